import { type Command, Option } from 'commander';
import { examples } from '../store/store-file-commands.ts';
import { storeHelp } from '../store-option.ts';
import type { ExportFlags } from './run-export.ts';

/** Adds `agl export`. */
export function addExportCommand(program: Command): void {
  program
    .command('export')
    .description('Write the trained weights of a run as safetensors, in the layout of Hugging Face or PEFT.')
    .argument('[config]', 'the configuration file of the run', 'agl.config.ts')
    .requiredOption('--run <id>', 'the run')
    .requiredOption('--out <folder>', 'the folder to write; empty or new')
    .option(
      '--checkpoint <name>',
      'final (that the run ended with), latest, best (by the evaluations during training), or the number of a step',
      'final',
    )
    .addOption(
      new Option(
        '--format <format>',
        'safetensors: the whole model. peft: the LoRA adapter (default: as it was trained)',
      ).choices(['safetensors', 'peft']),
    )
    .option('--policy <name>', 'the policy, of a run with several')
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
