// @ts-check
import '../../scripts/ts-loader.mjs';

// A program that a spec started does not outlive it, even when the spec's worker is killed.
process.on('disconnect', () => process.exit(1));
