/** How a command tells its outcome. */
export interface ProgramOptions {
  readonly setExitCode: (code: number) => void;
}
