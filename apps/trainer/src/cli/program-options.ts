/** How a command learns what it was asked, and tells its outcome. */
export interface ProgramOptions {
  /** The arguments, without the program. */
  readonly args: readonly string[];
  readonly setExitCode: (code: number) => void;
}
