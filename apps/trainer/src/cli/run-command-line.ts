import { withoutPasswords } from '@agentlightning/core/internal';
import { CommanderError } from 'commander';
import { errorText } from './error-text.ts';
import { exitCodeOf, exitCodes } from './exit-code.ts';
import { explainedFileError } from './file-error.ts';
import { buildProgram } from './program.ts';
import { withResumeAsTrain } from './train/train-command.ts';

/** Grace period for open handles of agents, such as connections, after the command has finished, in milliseconds. */
const lingerMs = 1000;

// `agl runs | head`: the reader has closed the pipe.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(exitCodes.brokenPipe);
  process.stderr.write(`error: standard output cannot be written: ${error.message}\n`);
  process.exit(exitCodes.failed);
});

try {
  process.exitCode = await runProgram(withResumeAsTrain(process.argv.slice(2)));
} catch (error) {
  if (error instanceof CommanderError) {
    process.exitCode = error.exitCode === 0 ? exitCodes.done : exitCodes.usage;
  } else {
    const explained = explainedFileError(error);
    process.stderr.write(`${withoutPasswords(errorText(explained))}\n`);
    process.exitCode = exitCodeOf(explained);
  }
}
setTimeout(() => process.exit(), lingerMs).unref();

async function runProgram(args: readonly string[]): Promise<number> {
  let exitCode: number = exitCodes.done;
  await buildProgram({ args, setExitCode: (code) => (exitCode = code) }).parseAsync([...args], { from: 'user' });
  return exitCode;
}
