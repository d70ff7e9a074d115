/** An adapter and its framework. */
export interface KnownAdapter {
  /** The adapter's package. */
  readonly adapter: string;
  /** The framework's package, whose version counts. */
  readonly framework: string;
  /** The supported versions: the peer dependency of the adapter. */
  readonly range: string;
  /** Packages whose import shows that a file uses the framework. */
  readonly imports: RegExp;
}

/** The adapters, those of frameworks before the one of their common client. */
export const adapters: readonly KnownAdapter[] = [
  { adapter: '@agentlightning/ai-sdk', framework: 'ai', range: '^6.0.111 || ^7.0.0', imports: /^ai$/ },
  {
    adapter: '@agentlightning/openai-agents',
    framework: '@openai/agents',
    range: '>=0.14.0 <1',
    imports: /^@openai\/agents/,
  },
  {
    adapter: '@agentlightning/langchain',
    framework: '@langchain/core',
    range: '^0.3.80 || ^1.0.1',
    imports: /^(?:@langchain\/|langchain$)/,
  },
  {
    adapter: '@agentlightning/mastra',
    framework: '@mastra/core',
    range: '>=1.60.0 <2',
    imports: /^@mastra\/core/,
  },
  {
    adapter: '@agentlightning/claude-agent-sdk',
    framework: '@anthropic-ai/claude-agent-sdk',
    range: '>=0.3.300 <1',
    imports: /^@anthropic-ai\/claude-agent-sdk$/,
  },
  { adapter: '@agentlightning/fetch', framework: 'openai', range: '>=6 <8', imports: /^openai$/ },
];
