/** The arguments of a command and the callback for its exit code. */
export interface ProgramOptions {
  /** The arguments, without the program. */
  readonly args: readonly string[];
  readonly setExitCode: (code: number) => void;
}
