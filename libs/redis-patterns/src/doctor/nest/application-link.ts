import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { PatternsExplorer } from '../../nest/method-decorator/index.js';
import { DoctorService } from '../doctor.service.js';
import { ownersOf } from './owners.js';

/** Tells the doctor which decorated methods there are. */
@Injectable()
export class ApplicationLink implements OnModuleInit {
  constructor(
    @Inject(DoctorService) private readonly doctor: DoctorService,
    @Inject(PatternsExplorer) private readonly explorer: PatternsExplorer,
  ) {}

  onModuleInit(): void {
    // A test may have put anything in the doctor's place.
    if (!(this.doctor instanceof DoctorService)) return;
    this.doctor.knowMethods((namespace) => ownersOf(namespace, this.explorer.list()));
  }
}
