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
  /** The function `ask`, which answers the question of a task with the tool `countStock`, in at most four model calls. */
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
import { isStepCount, ToolLoopAgent, tool } from 'ai';
import { z } from 'zod';
`,
    ask: `instrumentAISDK(); // the one line that is about training

async function ask(instructions: string, task: Task): Promise<string> {
  const clerk = new ToolLoopAgent({
    model: openai.chat('gpt-4.1-nano'),
    instructions,
    maxOutputTokens: 128,
    stopWhen: isStepCount(4),
    tools: {
      count_stock: tool({
        description: 'How many pieces of a part are in stock.',
        inputSchema: z.object({ part: z.string() }),
        execute: ({ part }) => countStock(task, part),
      }),
    },
  });
  const { text } = await clerk.generate({ prompt: task.question });
  return text;
}
`,
  },
  'openai-agents': {
    label: 'OpenAI Agents SDK',
    packages: ['@agentlightning/openai-agents', '@openai/agents@^0.20.0', 'zod@^4'],
    imports: `import { instrumentOpenAIAgents } from '@agentlightning/openai-agents';
import { Agent, MaxTurnsExceededError, ModelBehaviorError, run, tool } from '@openai/agents';
import { z } from 'zod';
`,
    ask: `instrumentOpenAIAgents(); // the one line that is about training

async function ask(instructions: string, task: Task): Promise<string> {
  const lookUp = tool({
    name: 'count_stock',
    description: 'How many pieces of a part are in stock.',
    parameters: z.object({ part: z.string() }),
    execute: ({ part }) => countStock(task, part),
  });
  const clerk = new Agent({
    name: 'clerk',
    instructions,
    model: 'gpt-4.1-nano',
    modelSettings: { maxTokens: 128 },
    tools: [lookUp],
  });
  try {
    const { finalOutput } = await run(clerk, task.question, { maxTurns: 4 });
    return finalOutput ?? '';
  } catch (error) {
    // The model did not come to an answer: a wrong one, not a failure of this program.
    if (error instanceof MaxTurnsExceededError || error instanceof ModelBehaviorError) return '';
    throw error;
  }
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
import { tool } from '@langchain/core/tools';
import { GraphRecursionError, MessagesAnnotation, START, StateGraph } from '@langchain/langgraph';
import { ToolNode, toolsCondition } from '@langchain/langgraph/prebuilt';
import { ChatOpenAI } from '@langchain/openai';
import { z } from 'zod';
`,
    ask: `instrumentLangChain(); // the one line that is about training

async function ask(instructions: string, task: Task): Promise<string> {
  const tools = [
    tool(({ part }) => countStock(task, part), {
      name: 'count_stock',
      description: 'How many pieces of a part are in stock.',
      schema: z.object({ part: z.string() }),
    }),
  ];
  const model = new ChatOpenAI({ model: 'gpt-4.1-nano', maxTokens: 128 }).bindTools(tools);
  const clerk = new StateGraph(MessagesAnnotation)
    .addNode('reply', async ({ messages }) => ({
      messages: [await model.invoke([{ role: 'system', content: instructions }, ...messages])],
    }))
    .addNode('tools', new ToolNode(tools))
    .addEdge(START, 'reply')
    .addConditionalEdges('reply', toolsCondition)
    .addEdge('tools', 'reply')
    .compile({ name: 'clerk' });
  try {
    const input = { messages: [{ role: 'user', content: task.question }] };
    const { messages } = await clerk.invoke(input, { recursionLimit: 8 });
    return messages.at(-1)?.text ?? '';
  } catch (error) {
    // The model did not come to an answer: a wrong one, not a failure of this program.
    if (error instanceof GraphRecursionError) return '';
    throw error;
  }
}
`,
  },
  mastra: {
    label: 'Mastra',
    packages: ['@agentlightning/mastra', '@mastra/core@^1', 'zod@^4'],
    imports: `import { instrumentMastra } from '@agentlightning/mastra';
import { Agent } from '@mastra/core/agent';
import { createTool } from '@mastra/core/tools';
import { z } from 'zod';
`,
    ask: `instrumentMastra(Agent); // the one line that is about training

async function ask(instructions: string, task: Task): Promise<string> {
  const lookUp = createTool({
    id: 'count_stock',
    description: 'How many pieces of a part are in stock.',
    inputSchema: z.object({ part: z.string() }),
    execute: async ({ part }) => countStock(task, part),
  });
  const clerk = new Agent({
    id: 'clerk',
    name: 'clerk',
    instructions,
    model: 'openai/gpt-4.1-nano',
    tools: { count_stock: lookUp },
  });
  const { text } = await clerk.generate(task.question, { maxSteps: 4, modelSettings: { maxOutputTokens: 128 } });
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

const tools: OpenAI.ChatCompletionFunctionTool[] = [
  {
    type: 'function',
    function: {
      name: 'count_stock',
      description: 'How many pieces of a part are in stock.',
      parameters: { type: 'object', properties: { part: { type: 'string' } }, required: ['part'] },
    },
  },
];

async function ask(instructions: string, task: Task): Promise<string> {
  const messages: OpenAI.ChatCompletionMessageParam[] = [
    { role: 'system', content: instructions },
    { role: 'user', content: task.question },
  ];
  for (let turn = 0; turn < 4; turn += 1) {
    const { choices } = await client.chat.completions.create({ model: 'gpt-4.1-nano', max_tokens: 128, messages, tools });
    const message = choices[0]?.message;
    if (!message?.tool_calls?.length) return message?.content ?? '';
    messages.push(message);
    for (const call of message.tool_calls) {
      messages.push({ role: 'tool', tool_call_id: call.id, content: countStock(task, partOf(call)) });
    }
  }
  return '';
}

/** The argument of a tool call; empty if the model wrote no valid one. */
function partOf(call: OpenAI.ChatCompletionMessageToolCall): string {
  try {
    return call.type === 'function' ? String(JSON.parse(call.function.arguments).part) : '';
  } catch {
    return '';
  }
}
`,
  },
};
