import { type Command, InvalidArgumentError, Option } from 'commander';
import { defaultStoreUrl } from '../../config/environment.ts';
import { finiteNumber, storeHelp } from '../flags.ts';
import type { DeployFlags, ListFlags } from './deploy-actions.ts';

/** Adds `agl deploy`. */
export function addDeployCommand(program: Command): void {
  program
    .command('deploy')
    .description('Make a version live in a deployment, or try it on a share of the users.')
    .argument('[version]', 'a checkpoint, such as run-1a2b@best, or prompts, such as run-1a2b@v3')
    .requiredOption('--to <deployment>', 'the name of the deployment')
    .option('--share <share>', 'try it on a share of the users, such as 10%, beside the live version', shareOf)
    .addOption(new Option('--promote-when <verdict>', 'make the candidate live automatically').choices(['better']))
    .option(
      '--max-cost <ratio>',
      'roll the candidate back above this multiple of the cost of the live version',
      positive,
      2,
    )
    .option('--promote', 'make the candidate live')
    .option('--rollback', 'drop the candidate, or make the previous version live again')
    .option('--endpoint <url>', 'an OpenAI-compatible API that serves the version, up to and with /v1')
    .option('--model <name>', 'the model of the endpoint')
    .option('--key-env <name>', 'the environment variable of `agl serve` with the key of the endpoint')
    .option(
      '--accept-worse',
      'deploy or promote a version that is worse on the held-out tasks or guards, or of which that is unknown; needs --reason',
    )
    .option('--reason <text>', 'the reason, for the history', '')
    .option('--store <url>', storeHelp, defaultStoreUrl)
    .option('--json', 'one JSON object, for programs')
    .addHelpText(
      'after',
      `
Examples:
  The model that an application has used so far, as the first version:
    $ agl deploy --endpoint https://api.openai.com/v1 --model gpt-4.1-mini --key-env OPENAI_API_KEY --to support-agent
  A trained policy for a tenth of the users, which becomes live when it is shown to be better:
    $ agl deploy run-1a2b3c4d@best --to support-agent --share 10% --promote-when better
  The end of its trial:
    $ agl deploy --to support-agent --rollback --reason "complaints about prices"

\`agl serve support-agent\` serves it. Applications load the prompts of a search with loadPrompts.`,
    )
    .action(async (version: string | undefined, flags: DeployFlags) => {
      const { deploy } = await import('./deploy-actions.ts');
      await deploy(version ?? null, flags);
    });
}

/** Adds `agl deployments` and `agl models`. */
export function addModelCommands(program: Command): void {
  program
    .command('deployments')
    .description('List the deployments of a store, with their live version and history.')
    .option('--store <url>', storeHelp, defaultStoreUrl)
    .option('--json', 'one JSON object per line, for programs')
    .action(async (flags: ListFlags) => {
      const { listDeployments } = await import('./deploy-actions.ts');
      await listDeployments(flags);
    });
  program
    .command('models')
    .description('List the versions that are or were live, with their origin; or show one.')
    .argument('[version]', 'a version, such as run-1a2b@30')
    .option('--store <url>', storeHelp, defaultStoreUrl)
    .option('--json', 'one JSON object per line, for programs')
    .action(async (version: string | undefined, flags: ListFlags) => {
      const { listModels } = await import('./deploy-actions.ts');
      await listModels(version ?? null, flags);
    });
}

/** A parser for a share: `10%` or `0.1`. */
function shareOf(text: string): number {
  const [, amount, unit] = /^(\d+(?:\.\d+)?)(%?)$/.exec(text.replaceAll(' ', '')) ?? [];
  const share = Number(amount) / (unit === '%' ? 100 : 1);
  if (share > 0 && share <= 1) return share;
  throw new InvalidArgumentError(`"${text}" is not a share above 0 % and up to 100 %, such as 10% or 0.1.`);
}

function positive(text: string): number {
  const value = finiteNumber(text);
  if (value > 0) return value;
  throw new InvalidArgumentError(`"${text}" is not above 0.`);
}
