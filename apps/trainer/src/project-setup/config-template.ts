import type { ExportedValue } from './exported-values.ts';

/** The agent that a configuration calls. */
export interface CalledAgent {
  /** The specifier of the agent's file, from the configuration: `./src/agent.ts`. */
  readonly module: string;
  /** Whether the configuration may use `await` at the top level. */
  readonly hasTopLevelAwait: boolean;
  /** The export that is called; null when the file exports none. */
  readonly exported: ExportedValue | null;
}

/** A configuration for an existing agent, with a placeholder for the tasks and the reward. */
export function configTemplate({ module, hasTopLevelAwait, exported }: CalledAgent): string {
  const name = exported === null || exported.name === 'default' ? 'runAgent' : exported.name;
  const imported = exported?.name === 'default' ? `{ default: ${name} }` : `{ ${name} }`;
  const missing =
    exported === null ? `// ${module} exports no function yet: export the one that runs the agent.\n` : '';
  const config = configBody(name, exported);
  // Without top-level await the configuration is a promise: an import that fails is an error of the configuration.
  const exports = hasTopLevelAwait
    ? `const ${imported} = await import('${module}');\n\nexport default ${config};\n`
    : `export default import('${module}').then((${imported}) =>\n${indented(config)},\n);\n`;
  return `import { defineConfig } from '@agentlightning/trainer';

// Model calls go to the model in training, which needs no key. Clients read it when they are created, so it is set before the import.
process.env['OPENAI_API_KEY'] ||= 'none';
${missing}${exports}`;
}

function configBody(name: string, exported: ExportedValue | null): string {
  return `defineConfig({
  // The reward: rate what the agent did, between 0 and 1.
  agent: async (task: { input: string; expected: string }) => {
${callLines(name, exported)}
    return String(output).trim() === task.expected ? 1 : 0;
  },
  // Placeholders: replace them with your tasks, at least 8 of each. Files of JSON lines work too: 'tasks/train.jsonl'.
  tasks: {
    train: Array.from({ length: 8 }, (_, n) => ({ input: \`Is \${n} a number?\`, expected: 'yes' })),
    test: Array.from({ length: 8 }, (_, n) => ({ input: \`Is \${n + 8} a number?\`, expected: 'yes' })),
  },
  // This learning rate suits the tiny model of the embedded runtime. For a real model, remove it and set \`runtime\`.
  algorithm: { type: 'grpo', groupSize: 8, learningRate: 2e-3 },
  steps: 10,
})`;
}

function indented(text: string): string {
  return text.replace(/^(?=.)/gm, '  ');
}

/** The lines that call the agent, with its answer in `output`. */
function callLines(name: string, exported: ExportedValue | null): string {
  if (exported?.kind === 'graph') {
    return `    // The input and the output are those of a graph with messages: change them if the state of yours has none.
    const { messages } = await ${name}.invoke({ messages: [{ role: 'user', content: task.input }] });
    const output = messages.at(-1)?.text ?? '';`;
  }
  const remark =
    exported?.kind === 'other' ? `    // ${name} is not declared as a function: call it as its framework does.\n` : '';
  return `${remark}    const output = await ${name}(task.input);`;
}
