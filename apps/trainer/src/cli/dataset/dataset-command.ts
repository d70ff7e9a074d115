import { type Command, Option } from 'commander';
import { defaultStoreUrl } from '../../config/environment.ts';
import { finiteNumber, storeHelp, wholeNumber } from '../flags.ts';
import { examples } from '../store/store-file-commands.ts';
import type { DatasetFlags } from './write-dataset.ts';

/** Adds `agl dataset`. */
export function addDatasetCommand(program: Command): void {
  program
    .command('dataset')
    .description('Write conversations or preference pairs of a run as JSON lines, to fine-tune a model elsewhere.')
    .requiredOption('--run <id>', 'the run')
    .addOption(
      new Option(
        '--format <format>',
        'chat: conversations to imitate. preference: pairs of a better and a worse response',
      )
        .choices(['chat', 'preference'])
        .default('chat'),
    )
    .addOption(
      new Option('--from <source>', 'what decides: the rewards, or the labels and preferences of people')
        .choices(['rewards', 'annotations'])
        .default('rewards'),
    )
    .option('--min-reward <reward>', 'chat: only rollouts with at least this reward', finiteNumber)
    .option('--best <n>', 'chat: only the best rollouts of each task', wholeNumber({ min: 1 }))
    .option('--min-gap <reward>', 'preference: minimum difference of the rewards of a pair', finiteNumber)
    .option('--agent <names...>', 'only completions of these agents, by name or path')
    .addOption(
      new Option('--mode <mode>', 'rollouts of this mode')
        .choices(['train', 'val', 'test', 'production'])
        .default('train'),
    )
    .option('--out <file>', 'the file to write; - for the standard output', '-')
    .option('--store <url>', storeHelp, defaultStoreUrl)
    .addHelpText(
      'after',
      examples(
        'agl dataset --run run-1a2b3c4d --min-reward 0.9 --best 1 --out good.jsonl',
        'The lines are in the formats of OpenAI’s fine-tuning API.',
      ),
    )
    .action(async (flags: DatasetFlags) => {
      const { writeDataset } = await import('./write-dataset.ts');
      await writeDataset(flags);
    });
}
