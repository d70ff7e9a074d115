import { rolloutFilterFields } from '@agentlightning/dashboard/internal';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { z } from 'zod';
import { packageVersion } from '../../events/package-version.ts';
import { findRollout, findRollouts } from './rollout-tools.ts';
import { compareRuns, findMetrics, findRun, findRuns, runId } from './run-tools.ts';
import type { StoreReader } from './store-reader.ts';
import { dataNotice, runTool } from './tool-result.ts';

const instructions = `Reads training runs of Agent Lightning, to find out why an agent does not learn. Begin with list_runs and
get_run: warnings have a cause and a remedy. Then get_metrics, list_rollouts (lowest rewards first) and get_rollout. No tool writes. ${dataNotice}`;

/** Every tool reads one store and nothing else. */
const readOnly = { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false };

const outputSchema = {
  notice: z.string().describe('What kind of text the data contains'),
  leftOut: z.array(z.string()).describe('How much was left out to limit the size, and how to get it'),
  data: z.unknown().describe('What was found'),
};

/** The MCP server of `agl mcp`, without a transport. */
export function createMcpServer(reader: StoreReader): McpServer {
  const server = new McpServer({ name: 'agentlightning', version: packageVersion() }, { instructions });
  addRunTools(server, reader);
  addRolloutTools(server, reader);
  return server;
}

function addRunTools(server: McpServer, reader: StoreReader): void {
  server.registerTool(
    'list_runs',
    {
      description: 'The runs of the store, newest first: state, step, held-out reward before and after, warnings.',
      inputSchema: { limit: z.int().min(1).max(100).default(20).describe('Maximum number of runs') },
      outputSchema,
      annotations: readOnly,
    },
    (question) => runTool(() => findRuns(reader, question)),
  );
  server.registerTool(
    'get_run',
    {
      description:
        'One run: state, reward curve, held-out evaluations with 95 % intervals, warnings with cause and remedy, failures by cause, configuration.',
      inputSchema: { run: runId },
      outputSchema,
      annotations: readOnly,
    },
    (question) => runTool(() => findRun(reader, question)),
  );
  server.registerTool(
    'get_metrics',
    {
      description: 'Metrics of a run over its steps: mean, minimum and maximum of each group of consecutive steps.',
      inputSchema: {
        run: runId,
        names: z
          .array(z.string().min(1).max(100))
          .min(1)
          .max(20)
          .default(['*'])
          .describe('Names of metrics; * stands for any text, such as policy/*'),
        points: z.int().min(1).max(200).default(50).describe('Maximum number of points of each metric'),
      },
      outputSchema,
      annotations: readOnly,
    },
    (question) => runTool(() => findMetrics(reader, question)),
  );
  server.registerTool(
    'compare_runs',
    {
      description: 'Two to eight runs side by side: rewards, curves, warnings, failures and differing settings.',
      inputSchema: { runs: z.array(runId).min(2).max(8).describe('Ids of the runs') },
      outputSchema,
      annotations: readOnly,
    },
    (question) => runTool(() => compareRuns(reader, question)),
  );
}

function addRolloutTools(server: McpServer, reader: StoreReader): void {
  server.registerTool(
    'list_rollouts',
    {
      description:
        'Rollouts with status, reward, step, task and failure, found by words of their text and other filters.',
      inputSchema: {
        ...rolloutFilterFields,
        limit: z.int().min(1).max(100).default(20).describe('Maximum number of rollouts'),
      },
      outputSchema,
      annotations: readOnly,
    },
    (question) => runTool(() => findRollouts(reader, question)),
  );
  server.registerTool(
    'get_rollout',
    {
      description:
        'One rollout: trace tree and conversation as text, rewards, attempts with exit code and error output, how training used it, siblings.',
      inputSchema: {
        rollout: z.string().min(1).max(200).describe('Id of a rollout, such as ro-3f9a'),
        attempt: z.string().min(1).max(200).optional().describe('Id of an attempt. Default: the latest'),
      },
      outputSchema,
      annotations: readOnly,
    },
    (question) => runTool(() => findRollout(reader, question)),
  );
}
