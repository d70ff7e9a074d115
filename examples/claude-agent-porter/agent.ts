/**
 * The porter of a house: the agent opens the door that a visitor names, with a tool.
 *
 * An ordinary agent on the Claude Agent SDK. The one line that makes it trainable is `traceQuery(sdk.query)`.
 *
 * @module
 */
import { tmpdir } from 'node:os';
import { traceQuery } from '@agentlightning/claude-agent-sdk';
import * as sdk from '@anthropic-ai/claude-agent-sdk';
import { z } from 'zod';

const query = traceQuery(sdk.query, { agentName: 'porter' });

/** Handles the message of a visitor, and returns the doors that the agent opened. */
export async function receiveVisitor(message: string): Promise<readonly string[]> {
  const opened: string[] = [];
  const openDoor = sdk.tool('open_door', 'Opens a door.', { door: z.string() }, async ({ door }) => {
    opened.push(door);
    return { content: [{ type: 'text', text: `${door} is open.` }] };
  });
  const options: sdk.Options = {
    model: 'claude-haiku-4-5',
    systemPrompt: 'You are a porter.',
    tools: [],
    mcpServers: { house: sdk.createSdkMcpServer({ name: 'house', tools: [openDoor], alwaysLoad: true }) },
    allowedTools: ['mcp__house__open_door'],
    maxTurns: 1,
    settingSources: [],
    persistSession: false,
    env: {
      ...process.env,
      CLAUDE_CONFIG_DIR: `${tmpdir()}/agentlightning-porter`,
      // Bare mode: no description of the environment in the prompt.
      CLAUDE_CODE_SIMPLE: '1',
      // No version of Claude Code in the prompt.
      CLAUDE_CODE_ATTRIBUTION_HEADER: '0',
    },
  };
  for await (const answer of query({ prompt: message, options })) {
    // The iterator throws after a result that reports the last turn.
    if (answer.type === 'result') break;
  }
  return opened;
}
