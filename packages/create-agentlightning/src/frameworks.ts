/** A framework that an agent is written with. */
export type Framework = 'ai-sdk' | 'openai-agents' | 'langgraph' | 'mastra' | 'fetch';

/** Parts of a project with a framework. */
interface FrameworkTemplate {
  /** For people. */
  readonly label: string;
  /** Packages to install, beside the trainer; with zod where the framework declares tools by it. */
  readonly packages: readonly string[];
  /** The first lines of agent.ts. */
  readonly imports: string;
  /** The function `ask`, which sends a text to the model and returns its answer. */
  readonly ask: string;
}

/** The framework without a choice of the user: the first one of the prompt. */
export const defaultFramework: Framework = 'ai-sdk';

/** The frameworks that a project can be created for. */
export const frameworks: Readonly<Record<Framework, FrameworkTemplate>> = {
  'ai-sdk': {
    label: 'Vercel AI SDK',
    packages: ['@agentlightning/ai-sdk', 'ai@^7', '@ai-sdk/openai@^4', 'zod@^4'],
    imports: `import { instrumentAISDK } from '@agentlightning/ai-sdk';
import { openai } from '@ai-sdk/openai';
import { generateText } from 'ai';
`,
    ask: `instrumentAISDK(); // the one line that is about training

async function ask(prompt: string): Promise<string> {
  const { text } = await generateText({ model: openai.chat('gpt-4.1-mini'), prompt, maxOutputTokens: 8 });
  return text;
}
`,
  },
  'openai-agents': {
    label: 'OpenAI Agents SDK',
    packages: ['@agentlightning/openai-agents', '@openai/agents@^0.20.0', 'zod@^4'],
    imports: `import { instrumentOpenAIAgents } from '@agentlightning/openai-agents';
import { Agent, run } from '@openai/agents';
`,
    ask: `instrumentOpenAIAgents(); // the one line that is about training

const assistant = new Agent({ name: 'assistant', model: 'gpt-4.1-mini', modelSettings: { maxTokens: 16 } });

async function ask(prompt: string): Promise<string> {
  const { finalOutput } = await run(assistant, prompt);
  return finalOutput ?? '';
}
`,
  },
  langgraph: {
    label: 'LangGraph',
    packages: [
      '@agentlightning/langchain',
      '@langchain/core@^1',
      '@langchain/langgraph@^1',
      '@langchain/openai@^1',
      'zod@^4',
    ],
    imports: `import { instrumentLangChain } from '@agentlightning/langchain';
import { END, MessagesAnnotation, START, StateGraph } from '@langchain/langgraph';
import { ChatOpenAI } from '@langchain/openai';
`,
    ask: `instrumentLangChain(); // the one line that is about training

const graph = new StateGraph(MessagesAnnotation)
  .addNode('reply', async ({ messages }) => {
    // Within the node, so that the module loads without an API key.
    const model = new ChatOpenAI({ model: 'gpt-4.1-mini', maxTokens: 8 });
    return { messages: [await model.invoke(messages)] };
  })
  .addEdge(START, 'reply')
  .addEdge('reply', END)
  .compile({ name: 'assistant' });

async function ask(prompt: string): Promise<string> {
  const { messages } = await graph.invoke({ messages: [{ role: 'user', content: prompt }] });
  return messages.at(-1)?.text ?? '';
}
`,
  },
  mastra: {
    label: 'Mastra',
    packages: ['@agentlightning/mastra', '@mastra/core@^1', 'zod@^4'],
    imports: `import { instrumentMastra } from '@agentlightning/mastra';
import { Agent } from '@mastra/core/agent';
`,
    ask: `instrumentMastra(Agent); // the one line that is about training

const assistant = new Agent({ id: 'assistant', name: 'assistant', instructions: '', model: 'openai/gpt-4.1-mini' });

async function ask(prompt: string): Promise<string> {
  const { text } = await assistant.generate(prompt, { modelSettings: { maxOutputTokens: 16 } });
  return text;
}
`,
  },
  fetch: {
    label: 'openai client, or plain fetch',
    packages: ['@agentlightning/fetch', 'openai@^7'],
    imports: `import { traceFetch } from '@agentlightning/fetch';
import OpenAI from 'openai';
`,
    ask: `const client = new OpenAI({
  apiKey: process.env['OPENAI_API_KEY'] || 'none',
  fetch: traceFetch(), // the one line that is about training
});

async function ask(prompt: string): Promise<string> {
  const { choices } = await client.chat.completions.create({
    model: 'gpt-4.1-mini',
    max_tokens: 8,
    messages: [{ role: 'user', content: prompt }],
  });
  return choices[0]?.message.content ?? '';
}
`,
  },
};
