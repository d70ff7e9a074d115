import type { SqlDialect } from '../sql/sql-dialect.ts';

/**
 * The tables of the store and the indexes that belong to one of them alone. Times are Unix milliseconds; JSON is text.
 */
export function tables({ name, columnTypes }: SqlDialect): readonly string[] {
  const { position, integer, real, text } = columnTypes;
  return [
    `CREATE TABLE runs (
      position ${position},
      run_id ${text} NOT NULL UNIQUE,
      name ${text} NOT NULL,
      status ${text} NOT NULL,
      config ${text} NOT NULL,
      state ${text} NOT NULL,
      create_time_ms ${real} NOT NULL,
      update_time_ms ${real} NOT NULL
    )`,
    `CREATE TABLE metrics (
      run_id ${text} NOT NULL REFERENCES runs (run_id),
      step ${integer} NOT NULL,
      time_ms ${real} NOT NULL,
      metric_values ${text} NOT NULL,
      PRIMARY KEY (run_id, step)
    )`,
    `CREATE TABLE resources (
      resources_id ${text} PRIMARY KEY,
      revision ${integer} NOT NULL UNIQUE,
      version ${integer} NOT NULL,
      resources ${text} NOT NULL,
      create_time_ms ${real} NOT NULL,
      update_time_ms ${real} NOT NULL
    )`,
    `CREATE TABLE rollouts (
      position ${position},
      rollout_id ${text} NOT NULL UNIQUE,
      run_id ${text} REFERENCES runs (run_id),
      status ${text} NOT NULL,
      mode ${text},
      -- No reference: the store protocol accepts unknown resources.
      resources_id ${text},
      latest_attempt_id ${text},
      -- The reward of the latest attempt, and the label that a person gave it, for filters and sorting.
      reward ${real},
      label ${text},
      timeout_ms ${real},
      unresponsive_ms ${real},
      max_attempts ${integer} NOT NULL,
      retry_condition ${text} NOT NULL,
      start_time_ms ${real} NOT NULL,
      end_time_ms ${real},
      metadata ${text},
      input ${text} NOT NULL
    )`,
    // A separate table keeps the cost of a claim independent of the number of rollouts.
    `CREATE TABLE queue (
      position ${position},
      rollout_id ${text} NOT NULL UNIQUE REFERENCES rollouts (rollout_id),
      run_id ${text}
    )`,
    'CREATE INDEX queue_by_run ON queue (run_id, position)',
    `CREATE TABLE attempts (
      rollout_id ${text} NOT NULL REFERENCES rollouts (rollout_id),
      attempt_id ${text} NOT NULL,
      sequence_id ${integer} NOT NULL,
      status ${text} NOT NULL,
      worker_id ${text},
      start_time_ms ${real} NOT NULL,
      end_time_ms ${real},
      last_heartbeat_time_ms ${real},
      lease_until_ms ${real},
      is_counted ${integer} NOT NULL DEFAULT 1,
      is_given_back ${integer} NOT NULL DEFAULT 0,
      span_count ${integer} NOT NULL DEFAULT 0,
      span_bytes ${integer} NOT NULL DEFAULT 0,
      -- The primary dimension of the last reward span, for statistics without reading spans.
      reward ${real},
      reward_sequence_id ${integer},
      metadata ${text},
      PRIMARY KEY (rollout_id, attempt_id),
      UNIQUE (rollout_id, sequence_id)
    )`,
    "CREATE INDEX open_attempts ON attempts (worker_id) WHERE status IN ('preparing', 'running')",
    // A separate table: assigning a sequence id does not rewrite the rollout with its input.
    `CREATE TABLE span_counters (
      rollout_id ${text} PRIMARY KEY REFERENCES rollouts (rollout_id),
      last_sequence_id ${integer} NOT NULL
    )`,
    `CREATE TABLE spans (
      rollout_id ${text} NOT NULL,
      attempt_id ${text} NOT NULL,
      span_id ${text} NOT NULL,
      sequence_id ${integer} NOT NULL,
      trace_id ${text} NOT NULL,
      parent_id ${text},
      name ${text} NOT NULL,
      start_time_ms ${real},
      end_time_ms ${real},
      body ${text} NOT NULL,
      PRIMARY KEY (rollout_id, attempt_id, span_id),
      FOREIGN KEY (rollout_id, attempt_id) REFERENCES attempts (rollout_id, attempt_id)
    )`,
    'CREATE INDEX spans_by_sequence ON spans (rollout_id, sequence_id)',
    // Token usage of captured model calls, for statistics without reading spans.
    `CREATE TABLE model_usage (
      rollout_id ${text} NOT NULL REFERENCES rollouts (rollout_id),
      model ${text} NOT NULL,
      is_policy ${integer} NOT NULL,
      calls ${integer} NOT NULL,
      input_tokens ${integer} NOT NULL,
      cached_input_tokens ${integer} NOT NULL,
      output_tokens ${integer} NOT NULL,
      PRIMARY KEY (rollout_id, model, is_policy)
    )${name === 'sqlite' ? ' WITHOUT ROWID' : ''}`,
    `CREATE TABLE workers (
      worker_id ${text} PRIMARY KEY,
      status ${text} NOT NULL,
      heartbeat_stats ${text},
      last_heartbeat_time_ms ${real},
      last_dequeue_time_ms ${real},
      last_busy_time_ms ${real},
      last_idle_time_ms ${real},
      current_rollout_id ${text},
      current_attempt_id ${text},
      lease_ms ${real}
    )`,
    `CREATE TABLE idempotent_responses (
      idempotency_key ${text} PRIMARY KEY,
      request_hash ${text} NOT NULL,
      response ${text} NOT NULL,
      create_time_ms ${real} NOT NULL
    )`,
    'CREATE INDEX idempotent_responses_by_time ON idempotent_responses (create_time_ms)',
    `CREATE TABLE store_time (
      subject ${text} PRIMARY KEY,
      seen_ms ${real} NOT NULL,
      resumed_ms ${real}
    )`,
    // Digests of access keys, never the keys.
    `CREATE TABLE access_keys (
      key_id ${text} PRIMARY KEY,
      name ${text} NOT NULL,
      role ${text} NOT NULL,
      -- Null for all projects.
      project ${text},
      key_digest ${text} NOT NULL,
      create_time_ms ${real} NOT NULL,
      expire_time_ms ${real},
      revoke_time_ms ${real}
    )`,
    // Digests of revoked attempt tokens, never the tokens.
    `CREATE TABLE revoked_tokens (
      token_digest ${text} PRIMARY KEY,
      expire_time_ms ${real} NOT NULL
    )`,
    // Finished rollouts whose text is not indexed yet.
    `CREATE TABLE rollouts_to_search (position ${integer} PRIMARY KEY)`,
    // The rollouts (by position) that have a span of a name, or a failed span: a search for rare spans skips all
    // others.
    `CREATE TABLE span_marks (
      mark ${text} NOT NULL,
      position ${integer} NOT NULL,
      PRIMARY KEY (mark, position)
    )${name === 'sqlite' ? ' WITHOUT ROWID' : ''}`,
  ];
}
