import type { Command } from 'commander';
import { finiteNumber, type ProgramOptions, wholeNumber } from '../flags.ts';
import { examples } from '../store/store-file-commands.ts';
import type { FromMcpFlags } from './run-from-mcp.ts';

/** Adds `agl tasks from-mcp`. */
export function addTasksCommand(program: Command, options: ProgramOptions): void {
  program
    .command('tasks')
    .description('Make tasks for a training.')
    .command('from-mcp')
    .description('Generate tasks with checkable answers from the tools of an MCP server, with a model.')
    .argument('[command...]', 'the command of the server, after --')
    .option('--url <url>', 'the address of a server instead')
    .requiredOption('--endpoint <url>', 'an OpenAI-compatible API, up to and with /v1')
    .requiredOption('--model <name>', 'the model of the endpoint')
    .option('--key-env <name>', 'the environment variable with the key of the endpoint')
    .option('--tool <names...>', 'only these tools (default: all)')
    .option(
      '--var <assignments...>',
      'variables of the server, as NAME=value; {folder} is a new folder for each attempt',
    )
    .option('--stateless', 'all attempts share one server: its tools change nothing')
    .option('--about <subject>', 'the subject of the questions')
    .option('--count <n>', 'number of tasks', wholeNumber({ min: 1, max: 100_000 }), 50)
    .option('--attempts <n>', 'attempts at each question', wholeNumber({ min: 2, max: 64 }), 4)
    .option('--agreement <share>', 'minimum share of attempts with the same answer, above 0.5', finiteNumber, 0.75)
    .option('--max-turns <n>', 'model calls of an attempt', wholeNumber({ min: 1, max: 100 }), 8)
    .option('--concurrency <n>', 'questions attempted at the same time', wholeNumber({ min: 1, max: 256 }), 4)
    .option('--out <file>', 'the file of the tasks', 'tasks.jsonl')
    .option('--test-out <file>', 'a second file with every fifth task')
    .option('--json', 'one JSON object, for programs')
    .addHelpText(
      'after',
      examples(
        'agl tasks from-mcp --endpoint https://api.openai.com/v1 --model gpt-5-mini --key-env OPENAI_API_KEY --tool get-sum --stateless -- npx -y @modelcontextprotocol/server-everything',
        'The model sees what the tools return. Exit codes: 0 all tasks were made, 1 fewer, 2 invalid flag, 3 the endpoint does not respond.',
      ),
    )
    .action(async (command: readonly string[], flags: FromMcpFlags) => {
      const { runFromMcp } = await import('./run-from-mcp.ts');
      options.setExitCode(await runFromMcp(command, flags));
    });
}
