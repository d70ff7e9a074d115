import type { SkippedScene } from './bundlers.ts';

/** A framework version that an adapter supports, with its contract tests. */
export interface MatrixFramework {
  /** The folder under `packages`. */
  readonly adapter: string;
  /** The framework name and version for display. */
  readonly name: string;
  /**
   * `current` and `previous` major versions run on every runtime; `lowest`, the first version that the adapter's
   * `peerDependencies` allow, only in the main column.
   */
  readonly age: 'current' | 'previous' | 'lowest';
  /** The packages that a user installs with the adapter, with exact versions for reproducible runs. */
  readonly packages: Readonly<Record<string, string>>;
  /** The columns that it is tested in. @default all */
  readonly columns?: readonly string[];
  /** Whether its tests take minutes, so that only `verify --all` runs them. @default false */
  readonly isLong?: boolean;
  /** Test files in the adapter's `test` folder. They are bundled unchanged into one program. */
  readonly programs: readonly string[];
  /** Scenes that this version cannot support on a runtime. `scene` is a substring of the scene's name. */
  readonly skippedScenes?: readonly (SkippedScene & {
    /** The name of a runtime, or `bundled`. */
    readonly on: string;
  })[];
  /** Maps the workspace aliases of this version's packages to their names. */
  readonly workspaceNames?: Readonly<Record<string, string>>;
}

const openaiAgents14 = {
  programs: ['contract-0.14.test.ts'],
  workspaceNames: { 'openai-agents-v0.14': '@openai/agents', 'openai-v6': 'openai' },
};
const ai6 = {
  programs: ['contract-ai-6.test.ts'],
  skippedScenes: [
    {
      on: 'deno',
      scene: 'stops the model, and is recorded partially',
      reason: 'on Deno, version 6 sometimes leaves the connection of an aborted stream open',
    },
  ],
  workspaceNames: {
    'ai-v6': 'ai',
    '@ai-sdk/openai-v3': '@ai-sdk/openai',
    '@ai-sdk/openai-compatible-v2': '@ai-sdk/openai-compatible',
  },
};
const openai6 = { programs: ['adapter-contract-openai-6.test.ts'], workspaceNames: { 'openai-v6': 'openai' } };

/** The tested framework versions. The version tables of the READMEs are generated from this list. */
export const frameworks: readonly MatrixFramework[] = [
  {
    adapter: 'langchain',
    name: 'LangChain 1',
    age: 'current',
    packages: {
      '@langchain/core': '1.4.0',
      '@langchain/langgraph': '1.7.3',
      '@langchain/openai': '1.6.0',
      langchain: '1.5.14',
    },
    programs: ['contract.test.ts', 'contract-langgraph.test.ts'],
  },
  {
    adapter: 'langchain',
    name: 'LangChain 0.3',
    age: 'previous',
    packages: { '@langchain/core': '0.3.80', '@langchain/langgraph': '0.4.9', '@langchain/openai': '0.6.17' },
    programs: ['versions/langchain-0.3.ts'],
  },
  {
    adapter: 'langchain',
    name: 'LangChain 1.0.1',
    age: 'lowest',
    packages: {
      '@langchain/core': '1.0.1',
      '@langchain/langgraph': '1.0.0',
      '@langchain/langgraph-checkpoint': '1.0.0',
      '@langchain/openai': '1.0.0',
      langchain: '1.0.1',
    },
    programs: ['versions/langchain-1.0.ts'],
  },
  {
    adapter: 'langchain',
    name: 'LangChain 0.3.80',
    age: 'lowest',
    packages: { '@langchain/core': '0.3.80', '@langchain/langgraph': '0.3.12', '@langchain/openai': '0.6.2' },
    programs: ['versions/langchain-0.3.ts'],
  },
  {
    adapter: 'openai-agents',
    name: 'OpenAI Agents 0.20',
    age: 'current',
    packages: { '@openai/agents': '0.20.0' },
    programs: ['contract.test.ts'],
    skippedScenes: [
      {
        on: 'bundled',
        scene: 'a model created before instrumentation',
        reason: 'in a bundle, the class of an existing client must be passed in `modules`',
      },
    ],
  },
  {
    adapter: 'openai-agents',
    name: 'OpenAI Agents 0.14',
    age: 'previous',
    packages: { '@openai/agents': '0.14.3' },
    ...openaiAgents14,
  },
  {
    adapter: 'openai-agents',
    name: 'OpenAI Agents 0.14.0',
    age: 'lowest',
    packages: { '@openai/agents': '0.14.0' },
    ...openaiAgents14,
  },
  {
    adapter: 'ai-sdk',
    name: 'AI SDK 7',
    age: 'current',
    packages: { ai: '7.0.173', '@ai-sdk/openai': '4.0.118', '@ai-sdk/openai-compatible': '3.0.92' },
    programs: ['contract.test.ts'],
  },
  {
    adapter: 'ai-sdk',
    name: 'AI SDK 6',
    age: 'previous',
    packages: { ai: '6.0.326', '@ai-sdk/openai': '3.0.141', '@ai-sdk/openai-compatible': '2.0.87' },
    ...ai6,
  },
  {
    adapter: 'ai-sdk',
    name: 'AI SDK 7.0.0',
    age: 'lowest',
    packages: { ai: '7.0.0', '@ai-sdk/openai': '4.0.0', '@ai-sdk/openai-compatible': '3.0.0' },
    programs: ['contract.test.ts'],
  },
  {
    adapter: 'ai-sdk',
    name: 'AI SDK 6.0.111',
    age: 'lowest',
    packages: { ai: '6.0.111', '@ai-sdk/openai': '3.0.41', '@ai-sdk/openai-compatible': '2.0.35' },
    ...ai6,
  },
  {
    adapter: 'mastra',
    name: 'Mastra 1',
    age: 'current',
    packages: { '@mastra/core': '1.71.0', '@ai-sdk/openai': '4.0.118', '@ai-sdk/openai-compatible': '3.0.92' },
    programs: ['contract.test.ts'],
  },
  {
    adapter: 'mastra',
    name: 'Mastra 1.60',
    age: 'lowest',
    packages: { '@mastra/core': '1.60.0', '@ai-sdk/openai': '4.0.118', '@ai-sdk/openai-compatible': '3.0.92' },
    programs: ['contract.test.ts'],
  },
  {
    adapter: 'claude-agent-sdk',
    name: 'Claude Agent SDK 0.3',
    age: 'current',
    columns: ['node24-esm', 'bun-esm', 'deno-esm'],
    isLong: true,
    packages: { '@anthropic-ai/claude-agent-sdk': '0.3.331' },
    programs: ['contract.test.ts'],
  },
  {
    adapter: 'claude-agent-sdk',
    name: 'Claude Agent SDK 0.3.300',
    age: 'lowest',
    isLong: true,
    packages: { '@anthropic-ai/claude-agent-sdk': '0.3.300' },
    programs: ['contract.test.ts'],
  },
  {
    adapter: 'fetch',
    name: 'openai 7',
    age: 'current',
    packages: { openai: '7.55.0' },
    programs: ['adapter-contract.test.ts'],
  },
  {
    adapter: 'fetch',
    name: 'openai 6',
    age: 'previous',
    packages: { openai: '6.49.0' },
    ...openai6,
  },
  {
    adapter: 'fetch',
    name: 'openai 6.0',
    age: 'lowest',
    packages: { openai: '6.0.0' },
    ...openai6,
  },
];
