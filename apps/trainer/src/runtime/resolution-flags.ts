/** The flags of this process that affect module resolution. Others, such as `--eval`, do not apply to its child processes. */
export function resolutionFlags(flags: readonly string[]): readonly string[] {
  return flags.flatMap((flag, index) => {
    if (flag.startsWith('--conditions=')) return [flag];
    return flag === '--conditions' || flag === '-C' ? flags.slice(index, index + 2) : [];
  });
}
