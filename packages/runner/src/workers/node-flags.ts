/** Flags of Node that are of this process only: programs on the command line, the debugger, tests. */
const ownFlags =
  /^(?:-[ep]$|-pe$|--eval|--print|--inspect|--debug|--test|--watch|--check$|-c$|--interactive$|-i$|--input-type)/;

/** Own flags whose value is the next argument. */
const withValue = /^(?:-[ep]|-pe|--eval|--print)$/;

/** The flags of Node that a process with the same modules needs, such as preloaded modules and conditions. */
export function nodeFlags(flags: readonly string[]): readonly string[] {
  return flags.filter((flag, index) => !ownFlags.test(flag) && !withValue.test(flags[index - 1] ?? ''));
}
