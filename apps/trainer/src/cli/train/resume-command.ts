import path from 'node:path';
import { addressText } from '@agentlightning/core/internal';
import { shellWord } from '../../report/shell-word.ts';

/**
 * The command that resumes a run: the one that started it, with `--resume`. The other flags stay, since they say
 * where the run's data lies and how many steps it has. Passwords of addresses are not said again.
 *
 * @param args - the arguments that the run was begun or resumed with, `train` included
 * @param command - how the program is called
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

/** The arguments but for these flags and what they are given. */
function without(args: readonly string[], flags: readonly string[]): readonly string[] {
  return args.filter((arg, index) => {
    return !flags.includes(arg) && !flags.includes(args[index - 1] ?? '') && !flags.includes(arg.replace(/=.*$/s, ''));
  });
}

/** Paths below the current folder read better without it; what a shell would take apart is quoted. */
function shown(arg: string): string {
  const said = arg.replace(/^(--[\w-]+=)?(.*:\/\/.*)$/s, (_, flag = '', address) => flag + addressText(address));
  const near = said.startsWith(process.cwd() + path.sep) ? path.relative(process.cwd(), said) : said;
  return shellWord(near);
}
