export type { AcceptedFinding, Baseline } from './baseline.js';
export type { DoctorOptions, ExamineOptions } from './doctor.options.js';
export type {
  DoctorReport,
  Finding,
  FindingScope,
  PrefixReport,
  Severity,
  StopReason,
  UncheckedRule,
  Workload,
} from './doctor.report.js';
export { DoctorService } from './doctor.service.js';
