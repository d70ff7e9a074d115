import path from 'node:path';
import { addressText } from '@agentlightning/core';

/**
 * The command that goes on with a run: the one that began it, with `--resume`. The other flags stay, since they say
 * where the run's data lies and how many steps it has. Passwords of addresses are not said again.
 *
 * @param args - the arguments that the run was begun or resumed with, `train` included
 * @param command - how the program is called
 */
export function resumeCommand(args: readonly string[], runId: string, command: string): string {
  const isOver = (arg: string | undefined): boolean => arg === '--run' || arg === '--resume';
  const kept = args.filter((arg, index) => {
    return !isOver(arg) && !isOver(args[index - 1]) && !arg.startsWith('--run=') && !arg.startsWith('--resume=');
  });
  return [command, ...kept.map(shown), '--resume', runId].join(' ');
}

/** Paths below the current folder read better without it; what a shell would take apart is quoted. */
function shown(arg: string): string {
  const said = arg.replace(/^(--[\w-]+=)?(.*:\/\/.*)$/s, (_, flag = '', address) => flag + addressText(address));
  const near = said.startsWith(process.cwd() + path.sep) ? path.relative(process.cwd(), said) : said;
  return /^[\w@%+=:,./-]+$/.test(near) ? near : `'${near.replaceAll("'", "'\\''")}'`;
}
