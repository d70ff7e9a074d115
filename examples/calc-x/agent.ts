/**
 * Solves arithmetic word problems with a calculator, which is an MCP server.
 *
 * An ordinary agent on the Vercel AI SDK. Nothing in this file is about training.
 *
 * @module
 */
import { createMCPClient, type MCPClient } from '@ai-sdk/mcp';
import { StdioMCPTransport } from '@ai-sdk/mcp/mcp-stdio';
import { openai } from '@ai-sdk/openai';
import { isStepCount, ToolLoopAgent, type ToolSet } from 'ai';

let calculator: Promise<{ readonly client: MCPClient; readonly tools: ToolSet }> | undefined;

/** Starts the calculator at the first problem; all problems of this process share it. */
function openCalculator(): NonNullable<typeof calculator> {
  calculator ??= startCalculator();
  return calculator;
}

async function startCalculator() {
  const client = await createMCPClient({
    transport: new StdioMCPTransport({
      command: process.execPath,
      args: [new URL('calculator-server.ts', import.meta.url).pathname],
    }),
  });
  return { client, tools: await client.tools() };
}

/** Stops the calculator. */
export async function closeCalculator(): Promise<void> {
  const open = await calculator;
  calculator = undefined;
  await open?.client.close();
}

/** Solves a word problem: one calculation, then the answer. */
export async function solve(question: string): Promise<string> {
  const { tools } = await openCalculator();
  const agent = new ToolLoopAgent({
    model: openai.chat('gpt-4.1-mini'),
    instructions: 'You calculate.',
    tools,
    stopWhen: isStepCount(2),
    telemetry: { functionId: 'calc-x' },
  });
  const { text } = await agent.generate({ prompt: question });
  return text;
}
