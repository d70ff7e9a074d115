import { withoutPasswords } from '@agentlightning/core/internal';
import { CommanderError } from 'commander';
import { errorText } from './error-text.ts';
import { exitCodeOf, exitCodes } from './exit-code.ts';
import { explainedFileError } from './file-error.ts';
import { buildProgram } from './program.ts';
import { withResumeAsTrain } from './train/train-command.ts';

/**
 * Runs one `agl` command and writes its output to the standard streams of this process.
 *
 * @param commandLine the arguments, without the program
 * @returns the exit code
 */
export async function runCommandLine(commandLine: readonly string[]): Promise<number> {
  try {
    return await runProgram(withResumeAsTrain(commandLine));
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.done : exitCodes.usage;
    const explained = explainedFileError(error);
    process.stderr.write(`${withoutPasswords(errorText(explained))}\n`);
    return exitCodeOf(explained);
  }
}

async function runProgram(args: readonly string[]): Promise<number> {
  let exitCode: number = exitCodes.done;
  await buildProgram({ args, setExitCode: (code) => (exitCode = code) }).parseAsync([...args], { from: 'user' });
  return exitCode;
}
