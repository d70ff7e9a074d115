import type { Migration } from '../migration.ts';

/** Everything the store holds. Times are Unix milliseconds; JSON is text. */
export const firstSchema: Migration = {
  version: 1,
  name: 'first schema',
  statements: [
    `CREATE TABLE runs (
      position INTEGER PRIMARY KEY,
      run_id TEXT NOT NULL UNIQUE,
      name TEXT NOT NULL,
      status TEXT NOT NULL,
      config TEXT NOT NULL,
      state TEXT NOT NULL,
      create_time_ms REAL NOT NULL,
      update_time_ms REAL NOT NULL
    )`,
    `CREATE TABLE metrics (
      run_id TEXT NOT NULL REFERENCES runs (run_id),
      step INTEGER NOT NULL,
      time_ms REAL NOT NULL,
      metric_values TEXT NOT NULL,
      PRIMARY KEY (run_id, step)
    )`,
    `CREATE TABLE resources (
      resources_id TEXT PRIMARY KEY,
      revision INTEGER NOT NULL UNIQUE,
      version INTEGER NOT NULL,
      resources TEXT NOT NULL,
      create_time_ms REAL NOT NULL,
      update_time_ms REAL NOT NULL
    )`,
    `CREATE TABLE rollouts (
      position INTEGER PRIMARY KEY,
      rollout_id TEXT NOT NULL UNIQUE,
      run_id TEXT REFERENCES runs (run_id),
      status TEXT NOT NULL,
      mode TEXT,
      resources_id TEXT REFERENCES resources (resources_id),
      latest_attempt_id TEXT,
      timeout_ms REAL,
      unresponsive_ms REAL,
      max_attempts INTEGER NOT NULL,
      retry_condition TEXT NOT NULL,
      start_time_ms REAL NOT NULL,
      end_time_ms REAL,
      metadata TEXT,
      input TEXT NOT NULL
    )`,
    'CREATE INDEX rollouts_by_run ON rollouts (run_id, position)',
    'CREATE INDEX rollouts_by_status ON rollouts (status, position)',
    // A table of its own keeps the cost of a claim independent of how many rollouts there have been.
    `CREATE TABLE queue (
      position INTEGER PRIMARY KEY,
      rollout_id TEXT NOT NULL UNIQUE REFERENCES rollouts (rollout_id),
      run_id TEXT
    )`,
    'CREATE INDEX queue_by_run ON queue (run_id, position)',
    `CREATE TABLE attempts (
      rollout_id TEXT NOT NULL REFERENCES rollouts (rollout_id),
      attempt_id TEXT NOT NULL,
      sequence_id INTEGER NOT NULL,
      status TEXT NOT NULL,
      worker_id TEXT,
      start_time_ms REAL NOT NULL,
      end_time_ms REAL,
      last_heartbeat_time_ms REAL,
      lease_until_ms REAL,
      is_counted INTEGER NOT NULL DEFAULT 1,
      is_given_back INTEGER NOT NULL DEFAULT 0,
      metadata TEXT,
      PRIMARY KEY (rollout_id, attempt_id),
      UNIQUE (rollout_id, sequence_id)
    )`,
    "CREATE INDEX open_attempts ON attempts (worker_id) WHERE status IN ('preparing', 'running')",
    // Apart from the rollouts, so that giving out a number does not rewrite a rollout's whole input.
    `CREATE TABLE span_counters (
      rollout_id TEXT PRIMARY KEY REFERENCES rollouts (rollout_id),
      last_sequence_id INTEGER NOT NULL
    )`,
    `CREATE TABLE spans (
      rollout_id TEXT NOT NULL,
      attempt_id TEXT NOT NULL,
      span_id TEXT NOT NULL,
      sequence_id INTEGER NOT NULL,
      trace_id TEXT NOT NULL,
      parent_id TEXT,
      name TEXT NOT NULL,
      start_time_ms REAL,
      end_time_ms REAL,
      body TEXT NOT NULL,
      PRIMARY KEY (rollout_id, attempt_id, span_id),
      FOREIGN KEY (rollout_id, attempt_id) REFERENCES attempts (rollout_id, attempt_id)
    )`,
    'CREATE INDEX spans_by_sequence ON spans (rollout_id, sequence_id)',
    `CREATE TABLE workers (
      worker_id TEXT PRIMARY KEY,
      status TEXT NOT NULL,
      heartbeat_stats TEXT,
      last_heartbeat_time_ms REAL,
      last_dequeue_time_ms REAL,
      last_busy_time_ms REAL,
      last_idle_time_ms REAL,
      current_rollout_id TEXT,
      current_attempt_id TEXT
    )`,
    `CREATE TABLE idempotent_answers (
      idempotency_key TEXT PRIMARY KEY,
      request_hash TEXT NOT NULL,
      answer TEXT NOT NULL,
      create_time_ms REAL NOT NULL
    )`,
    'CREATE INDEX idempotent_answers_by_time ON idempotent_answers (create_time_ms)',
  ],
};
