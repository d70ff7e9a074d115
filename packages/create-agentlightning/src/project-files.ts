import { documentFiles } from './document-files.ts';
import { frameworks } from './frameworks.ts';
import { goals } from './goals.ts';
import type { ProjectChoice } from './project-choice.ts';

/**
 * The files of a new project, by their path in it. The dependencies are not in package.json yet: the package manager adds them.
 *
 * @example
 * ```ts
 * const files = projectFiles({ name: 'my-agent', framework: 'ai-sdk', goal: 'rl' });
 * console.log(files['agent.ts']);
 * ```
 */
export function projectFiles(choice: ProjectChoice): Readonly<Record<string, string>> {
  return {
    'package.json': manifestText(choice),
    'tsconfig.json': tsconfigText,
    '.gitignore': 'node_modules/\n.agl/\n.env\n',
    'agent.ts': agentText(choice),
    'agl.config.ts': configText(choice),
    'agent.test.ts': testText,
    ...(choice.goal === 'prompt' ? { 'try.js': tryText } : {}),
    'tasks/train.jsonl': taskLines(['apples', 'pears', 'plums', 'figs', 'limes', 'dates', 'grapes', 'melons']),
    'tasks/test.jsonl': taskLines(['kiwis', 'cherries', 'mangos', 'lemons', 'peaches', 'berries', 'nuts', 'olives']),
    ...(choice.goal === 'prompt' ? { 'tasks/validation.jsonl': taskLines(['leeks', 'beets', 'peas', 'beans']) } : {}),
    ...documentFiles(choice),
  };
}

function manifestText({ name, goal }: ProjectChoice): string {
  const scripts = {
    ...(goal === 'prompt' ? { try: 'node try.js' } : {}),
    train: 'agl train',
    trace: 'agl dev --tasks 1',
    dashboard: 'agl dashboard',
    test: 'vitest run',
  };
  const manifest = { name, private: true, version: '0.0.0', type: 'module', engines: { node: '>=22.16' }, scripts };
  return `${JSON.stringify(manifest, null, 2)}\n`;
}

const tsconfigText = `${JSON.stringify(
  {
    compilerOptions: {
      target: 'es2024',
      module: 'nodenext',
      strict: true,
      noEmit: true,
      skipLibCheck: true,
      allowImportingTsExtensions: true,
      types: ['node'],
    },
    include: ['*.ts'],
  },
  null,
  2,
)}\n`;

function agentText({ framework, goal }: ProjectChoice): string {
  const { imports, ask } = frameworks[framework];
  const isPrompt = goal === 'prompt';
  const prompt = `
/** The prompt that the search improves. */
export const answering = definePrompt('answering', 'Answer the question: {question}');
`;
  return `${isPrompt ? "import { definePrompt } from '@agentlightning/core';\n" : ''}${imports}
/** A question and the answer that is right. */
export type Task = { question: string; answer: string };
${isPrompt ? prompt : ''}
${ask}
/** The agent: replace it with yours. */
export async function answer(task: Task): Promise<string> {
  return await ask(${isPrompt ? 'answering.format({ question: task.question })' : 'task.question'});
}
`;
}

function configText({ name, goal }: ProjectChoice): string {
  const imported = goal === 'prompt' ? 'answer, answering, type Task' : 'answer, type Task';
  const validation = goal === 'prompt' ? " validation: 'tasks/validation.jsonl'," : '';
  // The model in training needs no key; a model API does.
  const variables =
    goal === 'prompt'
      ? `
// Another API than that of OpenAI: its address, up to and with /v1, and its model. A local one without a key needs any text as OPENAI_API_KEY.
const baseUrl = process.env['OPENAI_BASE_URL'] || 'https://api.openai.com/v1';
const model = process.env['OPENAI_MODEL'] || undefined;
`
      : "\n// Model calls go to the model in training, which needs no key.\nprocess.env['OPENAI_API_KEY'] ||= 'none';\n";
  return `import { defineConfig } from '@agentlightning/trainer';
import { ${imported} } from './agent.ts';
${variables}
export default defineConfig<Task>({
  name: ${JSON.stringify(name)},
  // The reward: 1 for the right answer, 0 for any other.
  agent: async (task) => ((await answer(task)).trim() === task.answer ? 1 : 0),
  tasks: { train: 'tasks/train.jsonl',${validation} test: 'tasks/test.jsonl' },
${goals[goal].settings}});
`;
}

/** A scripted model answers, so the test needs neither a key nor a network. */
const testText = `import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Trainer } from '@agentlightning/trainer';
import { expect, test } from 'vitest';
import type { Task } from './agent.ts';

process.env['OPENAI_API_KEY'] ||= 'none';

test('the right answer has reward 1, any other has reward 0', { timeout: 120_000 }, async () => {
  const { default: config } = await import('./agl.config.ts');
  const dataDir = mkdtempSync(join(tmpdir(), 'agent-test-'));
  try {
    const task: Task = { question: 'Any apples?', answer: 'yes' };
    const { rollouts, problems } = await new Trainer({ ...config, dataDir }).dev({
      tasks: [task, task],
      script: ['yes', 'no'],
    });
    expect(problems).toEqual([]);
    expect(rollouts.map(({ reward }) => reward)).toEqual([1, 0]);
  } finally {
    rmSync(dataDir, { recursive: true });
  }
});
`;

/** A search whose two models are scripted, in JavaScript: Node before 22.18 runs no TypeScript. */
const tryText = `// The search of \`npm run train\`, with scripted replies of the agent's model and of the optimiser: no key, no network, no payment.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { respondWith, ScriptedModel } from '@agentlightning/core/testing';

const betterPrompt = 'Answer with one word in lower case, yes or no: {question}';

const api = await ScriptedModel.start(({ messages }) => {
  const text = JSON.stringify(messages);
  if (text.includes('<prompt>')) return respondWith(\`<prompt>\${betterPrompt}</prompt>\`); // a request of the optimiser
  return respondWith(text.includes('one word in lower case') ? 'yes' : 'Yes.');
});
process.stdout.write('All replies are scripted: this shows how a search proceeds, not what a model learns.\\n');
const env = { ...process.env, OPENAI_BASE_URL: api.baseUrl, OPENAI_API_KEY: 'none', OPENAI_MODEL: 'scripted-model' };
const [code] = await once(spawn('agl train', { shell: true, stdio: 'inherit', env }), 'exit');
await api.close();
process.exitCode = code ?? 1;
`;

function taskLines(things: readonly string[]): string {
  return things.map((thing) => `${JSON.stringify({ question: `Any ${thing}?`, answer: 'yes' })}\n`).join('');
}
