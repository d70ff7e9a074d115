import { frameworks } from './frameworks.ts';
import { goals } from './goals.ts';
import type { ProjectChoice } from './project-choice.ts';

const changeText = `
## Another agent

Change \`Task\` and the agent in \`agent.ts\`, then the tasks, the reward and the test. \`npx tsc\` reports a \`task\` in \`agent.test.ts\` that does not
have the type \`Task\`. \`script\` there lists the completions of all rollouts, in the order of the model calls:

| Entry | Completion |
|---|---|
| \`'81'\` | a text |
| \`{ toolCalls: [{ name: 'count_stock', arguments: { part: 'B7' } }] }\` | tool calls; the next entry answers their results |
| \`{ status: 429 }\` | an HTTP error |

Guides, also for coding agents:
[write a reward](node_modules/@agentlightning/trainer/skills/write-reward/SKILL.md),
[instrument an agent](node_modules/@agentlightning/trainer/skills/instrument-agent/SKILL.md),
[debug a run that does not learn](node_modules/@agentlightning/trainer/skills/debug-training/SKILL.md).
`;

const modelText = `
## The tiny model

Without \`runtime\`, \`tiny-chat\` is trained: 115,000 parameters, one token for each byte, a context of 2,048 bytes. It does not understand language.

- It writes words such as \`yes\`, \`no\` and \`done\` and numbers of two digits, and calls tools with keys of two characters from the prompt, such as \`B4\`.
- It learns only responses that it already samples now and then, at least once in the rollouts of a step. Run \`npx agl dev --tasks 8\` before a
  training, and read its responses. If none is close to a reward, give a part of the reward for a smaller success, such as a tool call with the right
  name: while all rewards are 0, nothing is learned.
- \`runtime: { type: 'embedded', model: 'tiny-reader' }\` in \`agl.config.ts\` trains a model that copies names and values out of the prompt.
- Other agents need a real model.
`;

/** README.md for people and AGENTS.md for coding agents. */
export function documentFiles({ name, framework, goal }: ProjectChoice): Readonly<Record<string, string>> {
  const { label } = frameworks[framework];
  const { explanation } = goals[goal];
  return {
    'README.md': `# ${name}

An agent on ${label} that [Agent Lightning](https://www.npmjs.com/package/@agentlightning/trainer) improves.

\`\`\`sh
npm test               # the agent and its reward, with a scripted model
${goal === 'prompt' ? 'npm run try            # the same as train, with scripted replies: no key, no payment\n' : ''}npm run train          # improves the agent; prints the reward on held-out tasks before and after
npm run trace          # one rollout as a tree
npm run dashboard      # the recorded runs in the browser
\`\`\`

${explanation}

| File | Content |
|---|---|
| \`agent.ts\` | the agent: replace it with yours |
| \`tasks/*.jsonl\` | tasks, one JSON object per line; \`test\` is held out |
| \`agl.config.ts\` | ${goal === 'judge' ? '' : 'the reward, '}the algorithm and its settings |${goal === 'judge' ? '\n| `reward.ts` | the judge with its criteria, and the truth as a recorded part |' : ''}
| \`agent.test.ts\` | a test of agent and reward |
${changeText}${goal === 'prompt' ? '' : modelText}`,
    'AGENTS.md': `# Instructions for coding agents

This project trains an agent on ${label} with Agent Lightning (\`agl\`).

- \`npm test\` checks the agent and its reward with a scripted model, without a network. Run it after every change.
- \`npx agl dev --json\` runs three rollouts and lists what would prevent training. Run it before a training.
- \`npm run train\` trains. The exit code is 1 if the held-out reward did not rise significantly.
- \`npx agl runs\`, \`npx agl rollouts --run <run>\` and \`npx agl show <rollout>\` read the results; all have \`--json\`.
- The reward is in \`${goal === 'judge' ? 'reward.ts' : 'agl.config.ts'}\`. It must differ between rollouts of a task, otherwise nothing is learned.
- Do not remove the line that is about training in \`agent.ts\`: without it no model call is recorded.
- Before you change the reward, read \`node_modules/@agentlightning/trainer/skills/write-reward/SKILL.md\`; before you replace the agent,
  \`skills/instrument-agent/SKILL.md\` there. If a run does not learn, follow \`skills/debug-training/SKILL.md\`.
`,
  };
}
