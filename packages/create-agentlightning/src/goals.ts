/** Goal of a project. */
export type Goal = 'rl' | 'judge' | 'prompt' | 'sft';

/** Parts of a project with a goal. */
interface GoalTemplate {
  /** For people. */
  readonly label: string;
  /** Description of `npm run train` and its requirements, in one sentence. */
  readonly explanation: string;
  /** The keys of agl.config.ts beside agent and tasks. */
  readonly settings: string;
  /** Prices of the models, in `run`. @default none */
  readonly prices?: { readonly text: string; readonly comment: string };
}

/** Number of held-out tasks of a prompt search, which are measured before and after it. */
export const promptTestTasks = 16;

const [maxRollouts, maxOptimizerCalls] = [100, 20];

/** The month of {@link prices}. */
const pricesOf = 'May 2026';

/** List prices in USD for a million tokens. The configuration of the project has them, so a run shows what it has cost. */
export const prices = { 'gpt-4.1-nano': { input: 0.1, output: 0.4 }, 'gpt-4.1': { input: 2, output: 8 } } as const;

/** An estimate of the tokens of a prompt search: at most four calls in a rollout, and a transcript of several rollouts in a request. */
const tokens = {
  'gpt-4.1-nano': { calls: (maxRollouts + 2 * promptTestTasks) * 4, input: 300, output: 128 },
  'gpt-4.1': { calls: maxOptimizerCalls, input: 4000, output: 500 },
} as const;

const cents: number = Object.entries(tokens).reduce((sum, [model, { calls, input, output }]) => {
  const price = prices[model as keyof typeof prices];
  return sum + (calls * (input * price.input + output * price.output)) / 1e4;
}, 0);

const assumptions: string = Object.entries(tokens)
  .map(([model, { calls, input, output }]) => {
    const price = prices[model as keyof typeof prices];
    return `${calls} calls of ${model} with ${input} input and ${output} output tokens each, at ${price.input} and ${price.output} USD for a million`;
  })
  .join(', and ');

/** GRPO on the tiny model. */
const grpoSettings = `  algorithm: { type: 'grpo', groupSize: 16, learningRate: 2e-3 },
  steps: 12,
  tasksPerStep: 8,
`;

/** The goals that a project can be created for. */
export const goals: Readonly<Record<Goal, GoalTemplate>> = {
  rl: {
    label: 'Reinforcement learning of a model',
    explanation:
      'Trains a tiny model on the CPU by GRPO, which shows that the loop works. For a real model, set `runtime` to a GPU machine.',
    settings: grpoSettings,
  },
  judge: {
    label: 'Reinforcement learning with a judge: I have no reward function',
    explanation:
      'A judge model scores the outputs by the criteria in `reward.ts`. It needs an API key in JUDGE_API_KEY; JUDGE_BASE_URL and JUDGE_MODEL ' +
      'select another API. `maxCost` in `reward.ts` bounds what each process pays. Before a training, `npx agl reward probe` shows which ' +
      'degenerate outputs the judge likes; after it, `npx agl audit <run>` compares it with the recorded truth. The trained model is a tiny ' +
      'one on the CPU; for a real model, set `runtime` to a GPU machine.',
    settings: grpoSettings,
  },
  prompt: {
    label: 'Better prompts, with a model API',
    explanation:
      '`npm run try` searches with scripted replies, without a key. `npm run train` rewrites the prompt with GEPA and evaluates each version. ' +
      `It needs an API key in OPENAI_API_KEY. Estimated cost with the tasks of this project: at most ${Math.ceil(cents)} US cents, for ` +
      `${assumptions}. These list prices of ${pricesOf} are in \`agl.config.ts\`, and may have changed; a run shows what it has cost. ` +
      'For another API, set OPENAI_BASE_URL and OPENAI_MODEL.',
    settings: `  prompts: [clerking],
  algorithm: { type: 'gepa', maxRollouts: ${maxRollouts}, maxOptimizerCalls: ${maxOptimizerCalls}, stopAtScore: 1 },
  runtime: { type: 'endpoint', baseUrl, model: model ?? 'gpt-4.1-nano', apiKey: env('OPENAI_API_KEY') },
  optimizer: { baseUrl, model: model ?? 'gpt-4.1', apiKey: env('OPENAI_API_KEY') },
`,
    prices: {
      text: `prices: { models: ${JSON.stringify(prices)} }`,
      comment: `USD for a million tokens: list prices of ${pricesOf}, which change.`,
    },
  },
  sft: {
    label: 'Supervised fine-tuning on the best runs',
    explanation:
      'Fine-tunes a tiny model on the CPU on its best rollouts (rejection sampling). For a real model, set `runtime` to a GPU machine.',
    settings: `  algorithm: { type: 'rejection-sampling', groupSize: 16, minReward: 1, learningRate: 2e-3 },
  steps: 15,
  tasksPerStep: 8,
`,
  },
};
