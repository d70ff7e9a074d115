import { useMutation, useQuery } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import type { ReplayView as Replayed } from '../../src/api/replay-views.ts';
import type { ConversationTurn, RolloutDetail } from '../../src/api/rollout-views.ts';
import { send } from '../data/api-client.ts';
import { durationText, indentedJson } from '../data/format.ts';
import { replayModelsQuery, type SpanAddress } from '../data/queries.ts';
import { CallSelect } from '../parts/call-select.tsx';
import { MessageView } from '../parts/conversation.tsx';
import { EmptyNotice, FailureNotice, QueryView } from '../parts/notice.tsx';
import { TextDifference } from '../parts/text-difference.tsx';

/** Repeats a model call with another model, and compares the responses. */
export function ReplayView({ detail }: { readonly detail: RolloutDetail }): ReactNode {
  const { rolloutId } = detail.rollout;
  return (
    <QueryView query={useQuery(replayModelsQuery(rolloutId))}>
      {({ items, reason }) =>
        reason === null ? (
          <CallSelect detail={detail}>
            {(turn, attemptId) => (
              <Replay
                key={turn.spanId}
                turn={turn}
                address={{ rolloutId, attemptId, spanId: turn.spanId }}
                models={items}
                policy={detail.training.at(-1)?.policy ?? null}
              />
            )}
          </CallSelect>
        ) : (
          <EmptyNotice title="No model for a replay">{reason}</EmptyNotice>
        )
      }
    </QueryView>
  );
}

function Replay(props: {
  readonly turn: ConversationTurn;
  readonly address: SpanAddress;
  readonly models: readonly { readonly id: string; readonly label: string }[];
  readonly policy: string | null;
}): ReactNode {
  const { turn, models, policy } = props;
  const { rolloutId, spanId, attemptId } = props.address;
  const [model, setModel] = useState(models[0]?.id ?? '');
  const [temperature, setTemperature] = useState('');
  const replay = useMutation({
    mutationFn: () =>
      send<Replayed>(`/api/rollouts/${encodeURIComponent(rolloutId)}/spans/${encodeURIComponent(spanId)}/replay`, {
        attempt: attemptId,
        model,
        policy,
        ...(temperature === '' ? {} : { temperature: Number(temperature) }),
      }),
  });
  return (
    <>
      <div className="filters">
        <label>
          Model
          <select value={model} onChange={({ target }) => setModel(target.value)}>
            {models.map(({ id, label }) => (
              <option key={id} value={id}>
                {label}
              </option>
            ))}
          </select>
        </label>
        <label>
          Temperature
          <input
            type="number"
            min={0}
            max={2}
            step="any"
            placeholder="same"
            value={temperature}
            onChange={({ target }) => setTemperature(target.value)}
          />
        </label>
        <button type="button" disabled={replay.isPending} onClick={() => replay.mutate()}>
          {replay.isPending ? 'Waiting for the model …' : 'Replay'}
        </button>
      </div>
      <p className="muted">
        Sends the recorded request again. The response is shown here and not recorded; tools are not run.
      </p>
      <div role="status">{replay.data ? <ReplayResult turn={turn} replayed={replay.data} /> : null}</div>
      {replay.error === null ? null : <FailureNotice error={replay.error} onRetry={() => replay.mutate()} />}
    </>
  );
}

function ReplayResult({ turn, replayed }: { readonly turn: ConversationTurn; readonly replayed: Replayed }): ReactNode {
  const { messages, finishReason, durationMs, responseBody } = replayed;
  return (
    <div className="panels">
      <section className="panel" aria-label="Recorded response">
        <h2>Recorded response</h2>
        <Messages messages={turn.outputMessages} />
      </section>
      <section className="panel" aria-label="Response of the replay">
        <h2>Response of the replay</h2>
        <Messages messages={messages} />
        <p className="muted">{`Finish reason ${finishReason ?? 'unknown'}, after ${durationText(durationMs)}.`}</p>
        <details>
          <summary>Raw response</summary>
          <pre className="foreign">{indentedJson(responseBody)}</pre>
        </details>
      </section>
      <section className="panel wide" aria-label="Difference">
        <h2>Difference from the recorded response</h2>
        <TextDifference text={textOf(messages)} base={textOf(turn.outputMessages)} />
      </section>
    </div>
  );
}

function Messages({ messages }: { readonly messages: ConversationTurn['outputMessages'] }): ReactNode {
  if (messages.length === 0) return <p className="muted">No message.</p>;
  // biome-ignore lint/suspicious/noArrayIndexKey: the messages of a response do not change
  return messages.map((message, index) => <MessageView key={index} message={message} isOutput={true} />);
}

function textOf(messages: ConversationTurn['outputMessages']): string {
  return messages.flatMap(({ parts }) => parts.map(({ text }) => text)).join('\n');
}
