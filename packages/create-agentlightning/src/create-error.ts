/** An error with a remedy for the user; the program prints it without a stack. */
export class CreateError extends Error {
  override readonly name = 'CreateError';
  /** 1: an operation failed; 2: a wrong argument. */
  readonly exitCode: number;

  constructor(message: string, exitCode: number) {
    super(message);
    this.exitCode = exitCode;
  }
}
