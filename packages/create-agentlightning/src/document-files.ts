import { frameworks } from './frameworks.ts';
import { goals } from './goals.ts';
import type { ProjectChoice } from './project-choice.ts';

/** README.md for people and AGENTS.md for coding agents. */
export function documentFiles({ name, framework, goal }: ProjectChoice): Readonly<Record<string, string>> {
  const { label } = frameworks[framework];
  const { explanation } = goals[goal];
  return {
    'README.md': `# ${name}

An agent on ${label} that [Agent Lightning](https://www.npmjs.com/package/@agentlightning/trainer) improves.

\`\`\`sh
npm test               # the agent and its reward, with a scripted model
npm run train          # improves the agent; prints the reward on held-out tasks before and after
npm run trace          # one rollout as a tree
npm run dashboard      # the recorded runs in the browser
\`\`\`

${explanation}

| File | Content |
|---|---|
| \`agent.ts\` | the agent: replace it with yours |
| \`tasks/*.jsonl\` | tasks, one JSON object per line; \`test\` is held out |
| \`agl.config.ts\` | the reward, the algorithm and its settings |
| \`agent.test.ts\` | a test of agent and reward |
`,
    'AGENTS.md': `# Instructions for coding agents

This project trains an agent on ${label} with Agent Lightning (\`agl\`).

- \`npm test\` checks the agent and its reward with a scripted model, without a network. Run it after every change.
- \`npx agl dev --json\` runs three rollouts and lists what would prevent training. Run it before a training.
- \`npm run train\` trains. The exit code is 1 if the held-out reward did not rise significantly.
- \`npx agl runs\`, \`npx agl rollouts --run <run>\` and \`npx agl show <rollout>\` read the results; all have \`--json\`.
- The reward is in \`agl.config.ts\`. It must differ between rollouts of a task, otherwise nothing is learned.
- Do not remove the line that is about training in \`agent.ts\`: without it no model call is recorded.
- Before you change the reward, read \`node_modules/@agentlightning/trainer/skills/write-reward/SKILL.md\`; before you replace the agent,
  \`skills/instrument-agent/SKILL.md\` there. If a run does not learn, follow \`skills/debug-training/SKILL.md\`.
`,
  };
}
