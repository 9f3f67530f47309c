// @ts-check
// Preloaded into programs that the bootstrap starts. The channel closes when the parent is gone, even by SIGKILL.
process.on('disconnect', () => {
  process.kill(process.pid, 'SIGTERM');
  // Should the program's own shutdown hang: nobody is left to end it.
  setTimeout(() => process.exit(1), 10_000).unref();
});
// The listener alone would keep the program alive.
process.channel?.unref();
