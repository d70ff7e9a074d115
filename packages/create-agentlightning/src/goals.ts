/** Goal of a project. */
export type Goal = 'rl' | 'prompt' | 'sft';

/** Parts of a project with a goal. */
interface GoalTemplate {
  /** For people. */
  readonly label: string;
  /** Description of `npm run train` and its requirements, in one sentence. */
  readonly explanation: string;
  /** The keys of agl.config.ts beside agent and tasks. */
  readonly settings: string;
}

/** The goals that a project can be created for. */
export const goals: Readonly<Record<Goal, GoalTemplate>> = {
  rl: {
    label: 'Reinforcement learning of a model',
    explanation:
      'Trains a tiny model on the CPU by GRPO, which shows that the loop works. For a real model, set `runtime` to a GPU machine.',
    settings: `  algorithm: { type: 'grpo', groupSize: 16, learningRate: 2e-3 },
  steps: 12,
`,
  },
  prompt: {
    label: 'Better prompts, with a model API',
    explanation:
      '`npm run try` searches with scripted replies, without a key. `npm run train` rewrites the prompt with GEPA and evaluates each version. ' +
      'It needs an API key in OPENAI_API_KEY and costs a few US cents: at most 100 rollouts with gpt-4.1-nano and 20 requests to gpt-4.1, ' +
      'less than 20,000 tokens with the tasks of this project. For another API, set OPENAI_BASE_URL and OPENAI_MODEL.',
    settings: `  prompts: [answering],
  algorithm: { type: 'gepa', maxRollouts: 100, maxOptimizerCalls: 20, stopAtScore: 1 },
  runtime: { type: 'endpoint', baseUrl, model: model ?? 'gpt-4.1-nano', apiKeyEnv: 'OPENAI_API_KEY' },
  optimizer: { baseUrl, model: model ?? 'gpt-4.1', apiKeyEnv: 'OPENAI_API_KEY' },
`,
  },
  sft: {
    label: 'Supervised fine-tuning on the best runs',
    explanation:
      'Fine-tunes a tiny model on the CPU on its best rollouts (rejection sampling). For a real model, set `runtime` to a GPU machine.',
    settings: `  algorithm: { type: 'rejection-sampling', groupSize: 16, minReward: 1, learningRate: 2e-3 },
  steps: 15,
`,
  },
};
