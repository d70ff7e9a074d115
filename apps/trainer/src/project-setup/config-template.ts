/** The exported functions of an agent's file: `default`, or names. */
export function exportedFunctions(source: string): readonly string[] {
  const named = [...source.matchAll(/^export\s+(?:async\s+)?(?:function\s*\*?|const)\s+(\w+)/gm)].map(
    (match) => match[1] ?? '',
  );
  return /^export\s+default\b/m.test(source) ? [...named, 'default'] : named;
}

/** The agent that a configuration calls. */
export interface ConfiguredAgent {
  /** The agent's file, from the configuration: `./src/agent.ts`. */
  readonly module: string;
  /** The export that is called; null when the file exports none. */
  readonly exported: string | null;
}

/** A configuration for an existing agent, with a placeholder for the tasks and the reward. */
export function configTemplate({ module, exported }: ConfiguredAgent): string {
  const name = exported === 'default' || exported === null ? 'runAgent' : exported;
  const imported = exported === 'default' ? `{ default: ${name} }` : `{ ${name} }`;
  const missing =
    exported === null ? `// ${module} exports no function yet: export the one that runs the agent.\n` : '';
  return `import { defineConfig } from '@agentlightning/trainer';

// Model calls go to the model in training, which needs no key. Clients read it when they are created, so it is set before the import.
process.env['OPENAI_API_KEY'] ||= 'none';
${missing}const ${imported} = await import('${module}');

export default defineConfig({
  // The reward: rate what the agent did, between 0 and 1.
  agent: async (task: { input: string; expected: string }) => {
    const output = await ${name}(task.input);
    return String(output).trim() === task.expected ? 1 : 0;
  },
  // Replace these with your tasks; files of JSON lines work too: 'tasks/train.jsonl'.
  tasks: {
    train: [
      { input: 'What is 2 + 2?', expected: '4' },
      { input: 'What is 3 + 4?', expected: '7' },
    ],
    test: [{ input: 'What is 5 + 1?', expected: '6' }],
  },
  algorithm: { type: 'grpo', groupSize: 8 },
  steps: 10,
});
`;
}
