import type { PatternPart } from '../../nest/pattern-part.js';
import { resolveDoctorOptions, type ResolvedDoctorOptions } from '../doctor.options.js';
import { DoctorService } from '../doctor.service.js';
import { ApplicationLink } from './application-link.js';

/** What the doctor adds to the module. It keeps no keys, and does nothing before it is asked. */
export const doctorPart: PatternPart<ResolvedDoctorOptions> = {
  option: 'doctor',
  resolve: resolveDoctorOptions,
  services: [
    {
      token: DoctorService,
      create: ({ connection, keys, telemetry }, options) =>
        new DoctorService(
          {
            name: connection.name,
            namespace: keys.namespace,
            servers: () => connection.direct('doctor'),
            stats: () => connection.stats(),
            holds: () => telemetry.holds,
          },
          options,
        ),
    },
  ],
  decorators: [],
  providers: [ApplicationLink],
};
