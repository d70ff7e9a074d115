export type { CloseOptions, Gateway } from './create-gateway.ts';
export { createGateway } from './create-gateway.ts';
export type { ServedGateway, ServeGatewayOptions } from './serve-gateway.ts';
export { serveGateway } from './serve-gateway.ts';
export type {
  AttemptTokenVerifier,
  DeploymentRoute,
  DeploymentRoutes,
  GatewayLog,
  GatewayOptions,
  GatewayState,
  HealthCheckOptions,
  KeyAuthenticator,
  PauseOptions,
  RejectedKey,
  RetryOptions,
  SamplingByMode,
  SamplingOverrides,
  Upstream,
  UpstreamState,
} from './wire/gateway-options.ts';
