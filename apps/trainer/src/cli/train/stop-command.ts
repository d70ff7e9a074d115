import type { Command } from 'commander';
import { defaultStoreUrl } from '../../config/environment.ts';
import { durationMs, storeHelp } from '../flags.ts';
import type { StopFlags } from './stop-run.ts';

/** Adds `agl stop`. */
export function addStopCommand(program: Command): void {
  program
    .command('stop')
    .description('Stop a run on any machine, like Ctrl+C in its terminal; `agl resume` continues it.')
    .argument('<run>', 'the id of the run')
    .option('--store <url>', storeHelp, defaultStoreUrl)
    .option('--wait <time>', 'maximum wait for the end of the run', durationMs, 60_000)
    .option('--json', 'one JSON object, for programs')
    .action(async (runId: string, flags: StopFlags) => {
      const { stopRun } = await import('./stop-run.ts');
      await stopRun(runId, flags);
    });
}
