import { type Command, Option } from 'commander';
import { type ProgramOptions, storeHelp } from '../flags.ts';
import { examples } from '../store/store-file-commands.ts';
import { addMetricsCommand } from './export-metrics-command.ts';
import { addTracesCommand } from './export-traces-command.ts';
import type { ExportFlags } from './run-export.ts';

/** Adds `agl export`, whose sub-command without a name is that of weights. */
export function addExportCommand(program: Command, options: ProgramOptions): void {
  const group = program.command('export').description('Export the weights, the traces or the metrics of a run.');
  addWeightsCommand(group);
  addTracesCommand(group, options);
  addMetricsCommand(group);
}

function addWeightsCommand(group: Command): void {
  group
    .command('weights', { isDefault: true })
    .description('Write the trained weights of a run as safetensors, in the layout of Hugging Face or PEFT.')
    .argument('[config]', 'the configuration file of the run', 'agl.config.ts')
    .requiredOption('--run <id>', 'the run')
    .requiredOption('--out <folder>', 'the folder to write; empty or new')
    .option(
      '--checkpoint <name>',
      'final (the checkpoint that the run ended with), latest, best (by evaluations during training), or the number of a step',
      'final',
    )
    .addOption(
      new Option(
        '--format <format>',
        'safetensors: the whole model. peft: the LoRA adapter (default: the trained form)',
      ).choices(['safetensors', 'peft']),
    )
    .option('--policy <name>', 'the policy, in a run of several policies')
    .option('--data-dir <folder>', 'folder of run data (default: .agl next to the configuration file)')
    .option('--store <url>', storeHelp)
    .option('--runtime <address>', 'host:port of a running training runtime')
    .option('--json', 'one JSON object, for programs')
    .addHelpText(
      'after',
      examples(
        'agl export --run run-1a2b3c4d --checkpoint best --out weights',
        'The runtime reads the checkpoint: start the one that trained the run, or pass its --runtime.',
      ),
    )
    .action(async (file: string, flags: ExportFlags) => {
      const { runExport } = await import('./run-export.ts');
      await runExport(file, flags);
    });
}
