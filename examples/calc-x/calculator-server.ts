/**
 * An MCP server on the standard streams with one tool: a calculator.
 *
 * @module
 */
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { evaluate, format } from 'mathjs';
import { z } from 'zod';

const server = new McpServer({ name: 'calculator', version: '1.0.0' });

server.registerTool(
  'calculate',
  {
    description: 'Calculates an arithmetic expression, such as 3*(4+5).',
    inputSchema: { expression: z.string().describe('Numbers, + - * / and parentheses') },
  },
  ({ expression }) => ({ content: [{ type: 'text', text: calculate(expression) }] }),
);

/** The value of an expression with up to four significant digits, or `error`. */
function calculate(expression: string): string {
  // The other functions of mathjs are not offered to a model.
  if (!/^[\d.+\-*/() ]+$/.test(expression)) return 'error';
  try {
    const value: unknown = evaluate(expression);
    return typeof value === 'number' && Number.isFinite(value) ? format(value, { precision: 4, upperExp: 9 }) : 'error';
  } catch {
    return 'error';
  }
}

await server.connect(new StdioServerTransport());
