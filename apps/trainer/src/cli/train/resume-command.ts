import path from 'node:path';
import { addressText } from '@agentlightning/core/internal';
import { shellQuote } from '../../report/text-formats.ts';

/**
 * The command that resumes a run: the one that started it, with `--resume`. Other flags are kept, such as the data folder
 * and the number of steps. Passwords of addresses are redacted.
 *
 * @param args - the arguments with which the run was started or resumed, including `train`
 * @param command - the program name
 */
export function resumeCommand(args: readonly string[], runId: string, command: string): string {
  return [command, ...without(args, ['--run', '--resume']).map(shown), '--resume', runId].join(' ');
}

/** The command that continues a finished run with more steps; see {@link resumeCommand}. */
export function moreStepsCommand(
  args: readonly string[],
  { runId, steps }: { readonly runId: string; readonly steps: number },
  command: string,
): string {
  return `${resumeCommand(without(args, ['--steps']), runId, command)} --steps ${steps}`;
}

/** The arguments without these flags and their values. */
function without(args: readonly string[], flags: readonly string[]): readonly string[] {
  return args.filter((arg, index) => {
    return !flags.includes(arg) && !flags.includes(args[index - 1] ?? '') && !flags.includes(arg.replace(/=.*$/s, ''));
  });
}

/** Makes paths below the current folder relative, and quotes arguments for the shell. */
function shown(arg: string): string {
  const said = arg.replace(/^(--[\w-]+=)?(.*:\/\/.*)$/s, (_, flag = '', address) => flag + addressText(address));
  const near = said.startsWith(process.cwd() + path.sep) ? path.relative(process.cwd(), said) : said;
  return shellQuote(near);
}
