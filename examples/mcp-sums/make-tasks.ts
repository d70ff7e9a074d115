/**
 * Writes `tasks/train.jsonl` and `tasks/test.jsonl` by `agl tasks from-mcp`, with the examiner as its model: `node make-tasks.ts`. Pass the
 * address and the name of a model API to use one: `node make-tasks.ts https://api.openai.com/v1 gpt-5-mini OPENAI_API_KEY`.
 *
 * @module
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { startExaminer } from './examiner.ts';

const [endpoint = (await startExaminer('1')).baseUrl, model = 'examiner', keyEnv] = process.argv.slice(2);
const program = fileURLToPath(import.meta.resolve('@agentlightning/trainer/main'));
const flags = [
  ...['--endpoint', endpoint, '--model', model, ...(keyEnv === undefined ? [] : ['--key-env', keyEnv])],
  ...['--tool', 'get-sum', '--stateless', '--about', 'the sum of two numbers'],
  ...['--count', '320', '--out', 'tasks/train.jsonl', '--test-out', 'tasks/test.jsonl'],
];
// The name of the server in the tasks does not depend on the machine.
const server = ['node', 'node_modules/@modelcontextprotocol/server-everything/dist/index.js'];
const agl = spawn(process.execPath, [...process.execArgv, program, 'tasks', 'from-mcp', ...flags, '--', ...server], {
  cwd: import.meta.dirname,
  stdio: 'inherit',
});
const [code] = await once(agl, 'exit');
process.exitCode = Number(code);
