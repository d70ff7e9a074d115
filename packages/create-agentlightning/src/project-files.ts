import { documentFiles } from './document-files.ts';
import { frameworks } from './frameworks.ts';
import { goals, prices, promptTestTasks } from './goals.ts';
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
    'agent.test.ts': choice.goal === 'judge' ? judgeTestText : testText,
    ...(choice.goal === 'judge' ? { 'reward.ts': judgeText } : {}),
    ...(choice.goal === 'prompt' ? { 'try.js': tryText } : {}),
    ...taskFiles(choice),
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
  const manifest = {
    name,
    private: true,
    version: '0.0.0',
    type: 'module',
    engines: { node: '>=22.16 <23 || >=24' },
    scripts,
  };
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
export const clerking = definePrompt('clerking', 'You are a stock clerk.');
`;
  return `${isPrompt ? "import { definePrompt } from '@agentlightning/core';\n" : ''}${imports}
/** A question, the stock that only the tool knows, and the answer that is right. */
export type Task = { question: string; stock: Record<string, string>; answer: string };
${isPrompt ? prompt : ''}
/** The tool: the count of a part, or its new number, such as \`is R9 now\`. */
function countStock({ stock }: Task, part: string): string {
  return stock[part] ?? 'no such part';
}

${ask}
/** The agent: replace it with yours. */
export async function answer(task: Task): Promise<string> {
  return await ask(${isPrompt ? 'clerking.format()' : "'You are a stock clerk.'"}, task);
}
`;
}

function configText({ name, goal }: ProjectChoice): string {
  const imported = goal === 'prompt' ? 'answer, clerking, type Task' : 'answer, type Task';
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
  const isJudged = goal === 'judge';
  const { prices } = goals[goal];
  const runText =
    prices === undefined
      ? `  run: { name: ${JSON.stringify(name)} },`
      : `  // ${prices.comment}\n  run: { name: ${JSON.stringify(name)}, ${prices.text} },`;
  return `import { defineConfig${goal === 'prompt' ? ', env' : ''} } from '@agentlightning/trainer';
import { ${imported} } from './agent.ts';
${isJudged ? "import { reward } from './reward.ts';\n" : ''}${variables}
export default defineConfig<Task>({
${runText}
${
  isJudged
    ? '  agent: answer,\n  reward,'
    : '  // The reward: 1 for the right answer, 0 for any other.\n  agent: async (task) => ((await answer(task)).trim() === task.answer ? 1 : 0),'
}
  tasks: { train: 'tasks/train.jsonl',${validation} test: 'tasks/test.jsonl' },
${goals[goal].settings}});
`;
}

/** A judge with its criteria; the truth beside it is recorded only. */
const judgeText = `import { createJudge, env, exact, rewards, rubric } from '@agentlightning/rewards';
import type { Task } from './agent.ts';

// Another API than that of OpenAI: its address, up to and with /v1, and its model.
const judge = createJudge({
  baseUrl: process.env['JUDGE_BASE_URL'] || 'https://api.openai.com/v1',
  model: process.env['JUDGE_MODEL'] || 'gpt-4.1-nano',
  apiKey: env('JUDGE_API_KEY'),
  // USD for a million tokens, and the most that a process pays: list prices change.
  price: ${JSON.stringify(prices['gpt-4.1-nano'])},
  maxCost: 1,
});

/** What a reader of the output would check: replace the criteria with yours. */
export const judged = rubric<Task, string>({
  judge,
  criteria: {
    right: 'The output states the count that the stock has for the part, or for its new number.',
    brief: { description: 'The output is that count only.', weight: 0.3 },
  },
  input: ({ question, stock }) => ({ question, stock }),
});

/** The truth, where it is known: it is recorded, and \`npx agl audit <run>\` compares the judge with it. */
export const correct = exact<Task, string>((task) => task.answer, { weight: 0 });

/** What trains: the judge. */
export const reward = rewards<Task, string>({ judged, correct });
`;

const judgeTestText = `import { expect, test } from 'vitest';
import type { Task } from './agent.ts';
import { correct, judged } from './reward.ts';

const task: Task = { question: 'How many B7 are in stock?', stock: { B7: 'is R9 now', R9: '81' }, answer: '81' };

test('the recorded truth is 1 for the right answer, 0 for any other', async () => {
  expect((await correct.score({ task, output: '81' })).score).toBe(1);
  expect((await correct.score({ task, output: '17' })).score).toBe(0);
});

test.skipIf(!process.env['JUDGE_API_KEY'])('the judge prefers the right answer', { timeout: 60_000 }, async () => {
  const [right, wrong] = await Promise.all(['81', '17'].map((output) => judged.score({ task, output })));
  expect(Number(right?.score)).toBeGreaterThan(Number(wrong?.score));
});
`;

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
    const task: Task = { question: 'How many B7 are in stock?', stock: { B7: 'is R9 now', R9: '81' }, answer: '81' };
    const lookUp = (part: string) => ({ toolCalls: [{ name: 'count_stock', arguments: { part } }] });
    const { rollouts, problems } = await new Trainer({ ...config, run: { ...config.run, dataDir } }).dev({
      tasks: [task, task],
      script: [lookUp('B7'), lookUp('R9'), '81', lookUp('B7'), '17'],
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
import { callTool, respondWith, ScriptedModel } from '@agentlightning/core/testing';

// The optimiser adds one rule at a time; the agent's model does what the rules of its prompt demand.
const numberRule = 'Reply with the number only.';
const renamedRule = 'If a part has a new number, look that up too.';

const api = await ScriptedModel.start(({ messages }) => {
  const text = JSON.stringify(messages);
  if (text.includes('<prompt>')) {
    const rules = text.includes(numberRule) ? \`\${numberRule} \${renamedRule}\` : numberRule;
    return respondWith(\`<prompt>You are a stock clerk. \${rules}</prompt>\`);
  }
  const results = messages.filter(({ role }) => role === 'tool').map(({ content }) => JSON.stringify(content));
  const part = /[A-Z][0-9]/.exec(results.at(-1) ?? text)?.[0] ?? '';
  if (results.length === 0 || (part !== '' && text.includes(renamedRule))) return callTool('count_stock', { part });
  const count = /[0-9]+/.exec(results.at(-1))?.[0] ?? '';
  return respondWith(text.includes(numberRule) ? count : \`There are \${count} in stock.\`);
});
process.stdout.write('All replies are scripted: this shows how a search proceeds, not what a model learns.\\n');
const env = { ...process.env, OPENAI_BASE_URL: api.baseUrl, OPENAI_API_KEY: 'none', OPENAI_MODEL: 'scripted-model' };
const [code] = await once(spawn('agl train', { shell: true, stdio: 'inherit', env }), 'exit');
await api.close();
process.exitCode = code ?? 1;
`;

/** Tasks, each with its own stock: every second part has a new number, so that the agent must look up twice. */
function taskFiles({ goal }: ProjectChoice): Readonly<Record<string, string>> {
  // mulberry32, so that every project has the same tasks.
  let state = 1;
  const draw = (limit: number): number => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * limit);
  };
  const taskLine = (isRenamed: boolean): string => {
    const drawn = new Set<string>();
    while (drawn.size < 4) drawn.add(String.fromCharCode(65 + draw(26)) + String(draw(10)));
    const [part = '', successor = ''] = drawn;
    const stock = Object.fromEntries([...drawn].map((name) => [name, String(10 + draw(90))]));
    const answer = stock[isRenamed ? successor : part] ?? '';
    if (isRenamed) stock[part] = `is ${successor} now`;
    return `${JSON.stringify({ question: `How many ${part} are in stock?`, stock, answer })}\n`;
  };
  const taskLines = (count: number): string =>
    Array.from({ length: count }, (_, index) => taskLine(index % 2 === 1)).join('');
  return goal === 'prompt'
    ? {
        'tasks/train.jsonl': taskLines(16),
        'tasks/validation.jsonl': taskLines(8),
        'tasks/test.jsonl': taskLines(promptTestTasks),
      }
    : { 'tasks/train.jsonl': taskLines(64), 'tasks/test.jsonl': taskLines(32) };
}
