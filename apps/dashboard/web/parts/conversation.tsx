import type { ReactNode } from 'react';
import type { ConversationTurn, RolloutDetail } from '../../src/api/rollout-views.ts';
import { indentedJson } from '../data/format.ts';
import { policyVersionText } from '../data/token-levels.ts';
import { EmptyNotice } from './notice.tsx';
import { RequestImages } from './request-images.tsx';
import { TurnTable } from './turn-table.tsx';

type TraceMessage = ConversationTurn['inputMessages'][number];

/** The model calls of an attempt as conversations: each call has the messages that are new in it. */
export function Conversation({ detail }: { readonly detail: RolloutDetail }): ReactNode {
  const { turns } = detail;
  if (turns.length === 0) {
    return (
      <EmptyNotice title="No model calls">
        The attempt has recorded none. Check that the agent calls the model through the gateway.
      </EmptyNotice>
    );
  }
  return (
    <>
      {turns.map((turn, index) => (
        <Turn key={turn.spanId} turn={turn} number={index + 1} detail={detail} />
      ))}
      <TurnTable detail={detail} />
    </>
  );
}

function Turn(props: {
  readonly turn: ConversationTurn;
  readonly number: number;
  readonly detail: RolloutDetail;
}): ReactNode {
  const { turn, number, detail } = props;
  const { turns, attemptId, rollout } = detail;
  const hasImages = turn.inputMessages.some(({ parts }) => parts.some(({ type }) => type === 'attachment'));
  const origin = turns.findIndex(({ spanId }) => spanId === turn.continues);
  return (
    <section className="panel" aria-labelledby={`call-${number}`}>
      <h2 id={`call-${number}`} className="foreign">
        Call {number} <span className="muted">{[...turn.agentPath, modelText(turn)].join(' › ')}</span>
      </h2>
      {turn.knownMessages === 0 ? null : (
        <p className="muted">{`After ${turn.knownMessages} messages of ${origin === -1 ? 'an earlier call' : `call ${origin + 1}`}.`}</p>
      )}
      {turn.inputMessages.map((message, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the messages of a recorded call do not change
        <MessageView key={index} message={message} isOutput={false} />
      ))}
      {hasImages && attemptId !== null ? (
        <RequestImages address={{ rolloutId: rollout.rolloutId, attemptId, spanId: turn.spanId }} />
      ) : null}
      {turn.outputMessages.map((message, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the messages of a recorded call do not change
        <MessageView key={index} message={message} isOutput={true} />
      ))}
      {turn.error === null ? null : <p className="error foreign">{turn.error}</p>}
      <TurnTokens turn={turn} />
    </section>
  );
}

/** The model that responded, with the requested name where it is another one. */
function modelText({ model, requestedModel }: ConversationTurn): string {
  return requestedModel === null ? model : `${model} (requested as ${requestedModel})`;
}

/** A message with its parts. */
export function MessageView(props: { readonly message: TraceMessage; readonly isOutput: boolean }): ReactNode {
  const { message, isOutput } = props;
  return (
    <div className="message" data-role={message.role} data-output={isOutput}>
      <span className="role foreign">{message.role}</span>
      <div>
        {message.parts.map((part, index) => (
          <pre
            // biome-ignore lint/suspicious/noArrayIndexKey: the parts of a recorded message do not change
            key={index}
            className="foreign"
            data-part={part.type}
          >
            {part.type === 'tool-result' ? indentedJson(part.text) : part.text}
          </pre>
        ))}
      </div>
    </div>
  );
}

function TurnTokens({ turn: { tokens } }: { readonly turn: ConversationTurn }): ReactNode {
  if (tokens === null) return null;
  const { prompt, response, isTrainable, untrainableReason } = tokens;
  return (
    <p className="muted">
      {`${prompt ?? '?'} prompt tokens, ${response ?? '?'} response tokens`}
      {tokens.policyVersion === null ? '' : `, ${policyVersionText(tokens.policyVersion, tokens.newestPolicyVersion)}`}
      {isTrainable === false ? `, excluded from training: ${untrainableReason ?? 'no reason recorded'}` : ''}
    </p>
  );
}
