import { type Command, Option } from 'commander';
import { defaultStoreUrl } from '../../config/environment.ts';
import { durationMs, finiteNumber, storeHelp, wholeNumber } from '../flags.ts';
import { examples } from '../store/store-file-commands.ts';
import type { DatasetsFlags } from './list-datasets.ts';
import type { DatasetFlags } from './write-dataset.ts';

/** Adds `agl dataset`. */
export function addDatasetCommand(program: Command): void {
  program
    .command('dataset')
    .description('Write conversations, preference pairs or tasks of a run or a deployment as JSON lines.')
    .option('--run <id>', 'the run')
    .addOption(new Option('--from <deployment>', 'the traces of a deployment instead of a run').conflicts('run'))
    .addOption(
      new Option(
        '--format <format>',
        'chat: conversations to imitate. preference: pairs of a better and a worse response. tasks: the inputs of traces',
      )
        .choices(['chat', 'preference', 'tasks'])
        .default('chat'),
    )
    .addOption(
      new Option('--by <source>', 'of a run, what decides: the rewards, or the labels and preferences of people')
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
    .option('--since <time>', 'of a deployment: only traces of this time until now, such as 7d', durationMs)
    .option('--min-score <score>', 'of a deployment: minimum score; a review counts more than feedback', finiteNumber)
    .addOption(new Option('--style <style>', 'of a deployment').choices(['openai', 'trl']).default('openai'))
    .option('--test-out <file>', 'of a deployment: a second file with the lines of other users')
    .option('--test-share <share>', 'share of the users in it', finiteNumber, 0.2)
    .addOption(
      new Option('--split-by <id>', 'what is never in both files').choices(['user', 'conversation']).default('user'),
    )
    .option('--name <name>', 'store the lines as the next version of a data set, with a part for the test')
    .option('--out <file>', 'the file to write; - for the standard output (default: -, or no file with --name)')
    .option('--store <url>', storeHelp, defaultStoreUrl)
    .addHelpText(
      'after',
      examples(
        'agl dataset --run run-1a2b3c4d --min-reward 0.9 --best 1 --out good.jsonl\n  agl dataset --from support-agent --since 7d --min-score 0.8 --out train.jsonl --test-out test.jsonl\n  agl dataset --from support-agent --since 7d --format tasks --name support-tasks',
        'The lines are in the formats of OpenAI’s fine-tuning API. Each file of a deployment gets a manifest with its SHA-256.\n`fromStore({ dataset: "support-tasks@1" })` in a configuration reads a stored version, `agl datasets` lists them.',
      ),
    )
    .action(async (flags: DatasetFlags) => {
      const { writeDataset } = await import('./write-dataset.ts');
      await writeDataset(flags);
    });
}

/** Adds `agl datasets`. */
export function addDatasetsCommand(program: Command): void {
  program
    .command('datasets')
    .description('List the versions of data sets in a store, or show one with its selection.')
    .argument('[version]', 'a version, such as support-tasks@3')
    .option('--out <file>', 'write the lines of the version to a file; - for the standard output')
    .addOption(new Option('--part <part>', 'the part to write').choices(['train', 'test']).default('train'))
    .option('--store <url>', storeHelp, defaultStoreUrl)
    .option('--json', 'one JSON object per line, for programs')
    .addHelpText(
      'after',
      examples(
        'agl datasets support-tasks@3 --part test --out test.jsonl',
        '`agl store delete --run support-tasks@3` deletes a version; `agl store export` and `import` copy it to another store.',
      ),
    )
    .action(async (version: string | undefined, flags: DatasetsFlags) => {
      const { listDatasets } = await import('./list-datasets.ts');
      await listDatasets(version ?? null, flags);
    });
}
