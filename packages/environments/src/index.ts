export type {
  Environment,
  EnvironmentAction,
  EnvironmentFactory,
  EnvironmentStep,
  EnvironmentTool,
  OperationContext,
  ResetContext,
} from './environment/environment.ts';
export type { Episode, EpisodeOptions, ExecutableTool } from './episode/episode.ts';
export type { WithEnvironmentOptions } from './episode/with-environment.ts';
export { withEnvironment } from './episode/with-environment.ts';
export type { CallMcpTool, McpEnvironmentOptions, McpEpisodeEnd, RewardedMcpOptions } from './mcp/mcp-environment.ts';
export { mcpEnvironment } from './mcp/mcp-environment.ts';
export type { ServerCommand, ServerUrl } from './mcp/server-process.ts';
export type { OpenEnvironmentOptions } from './openenv/open-environment.ts';
export { openEnvironment } from './openenv/open-environment.ts';
export type { PlayOptions } from './play/play-environment.ts';
export { playEnvironment } from './play/play-environment.ts';
