import { type Command, Option } from 'commander';
import { defaultStoreUrl } from '../../config/default-store-url.ts';
import { storeHelp } from '../store-option.ts';
import { type ShowFlags, showFormats } from './show-format.ts';

/** Adds `agl show`. */
export function addShowCommand(program: Command): void {
  program
    .command('show')
    .description('Show a rollout: its attempts, the tree of its trace, and the conversation.')
    .argument('<rollout>', 'the id of a rollout')
    .option('--store <url>', storeHelp, defaultStoreUrl)
    .option('--attempt <attempt>', 'which attempt', 'latest')
    .addOption(new Option('--format <format>', 'format of the trace').choices(showFormats).default('tree'))
    .option('--output <file>', 'output file; - for standard output', '-')
    .option('--json', 'the rollout and its spans as JSON')
    .addHelpText('after', showHelp)
    .action(async (rolloutId: string, flags: ShowFlags) => {
      const { showRollout } = await import('./show-rollout.ts');
      await showRollout(rolloutId, flags);
    });
}

const showHelp = `
Examples:
  agl show ro-3f9a                                        the tree of the latest attempt, in the terminal
  agl show ro-3f9a --format html --output trace.html      a page that stands alone: waterfall, messages, tokens, rewards
  agl show ro-3f9a --format mermaid                       a flowchart for pages that render Mermaid`;
