import { type Command, Option } from 'commander';
import { defaultStoreUrl } from '../../config/environment.ts';
import { storeHelp } from '../flags.ts';
import { examples } from '../store/store-file-commands.ts';
import type { ExportMetricsFlags } from './export-metrics.ts';

/** Adds `agl export metrics`. */
export function addMetricsCommand(group: Command): void {
  group
    .command('metrics')
    .description('Write the metrics and the configuration of a run for another tool.')
    .argument('<run>', 'the run')
    .addOption(
      new Option('--to <tool>', 'the tool or format')
        .choices(['tensorboard', 'mlflow', 'wandb', 'csv', 'openmetrics'])
        .default('csv'),
    )
    .option(
      '--out <path>',
      'tensorboard, wandb: a folder (default: runs, wandb). csv, openmetrics: a file (default: standard output)',
    )
    .option('--endpoint <url>', 'mlflow: the tracking server (default: MLFLOW_TRACKING_URI)')
    .option('--experiment <name>', 'mlflow: the experiment; wandb: the project', 'agentlightning')
    .option('--follow', 'write steps as they finish, until the run has ended')
    .option('--store <url>', storeHelp, defaultStoreUrl)
    .option('--json', 'the result as one JSON object')
    .addHelpText(
      'after',
      examples(
        'agl export metrics run-1a2b3c4d --to tensorboard --out runs --follow',
        'agl export metrics run-1a2b3c4d --to wandb && wandb sync wandb/offline-run-*-run-1a2b3c4d',
      ),
    )
    .action(async (run: string, flags: ExportMetricsFlags) => {
      const { exportMetrics } = await import('./export-metrics.ts');
      await exportMetrics(run, flags);
    });
}
