import type { Run } from '@agentlightning/core';
import { Gauge, type Registry } from 'prom-client';

/** Registers the number of runs of a server by status. */
export function countRuns(registry: Registry, read: () => Promise<readonly Run[]>): void {
  new Gauge({
    name: 'agl_server_runs',
    help: 'Runs of the server by status',
    labelNames: ['status'],
    registers: [registry],
    async collect() {
      const runs = await read();
      this.reset();
      for (const { status } of runs) this.inc({ status });
    },
  });
}
