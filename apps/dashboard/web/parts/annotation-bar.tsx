import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import type { RolloutDetail, RolloutPage } from '../../src/api/rollout-views.ts';
import { read, send } from '../data/api-client.ts';
import { storeQuery } from '../data/queries.ts';

/** What a person says about a rollout; absent fields are unchanged. */
interface Annotation {
  readonly label?: 'good' | 'bad' | 'none';
  readonly comment?: string;
  readonly correction?: string;
  readonly preferredOver?: string;
}

/**
 * Labels, comments, corrections and preferences of a finished rollout. In a queue, the next rollout without a label follows each label.
 *
 * @param queue - the run whose rollouts are labelled one after another; undefined outside of a queue
 */
export function AnnotationBar(props: {
  readonly detail: RolloutDetail;
  readonly queue: string | undefined;
}): ReactNode {
  const { detail, queue } = props;
  const { rolloutId, runId, endTimeMs } = detail.rollout;
  const { label, comment, correction, preferredOver } = detail.review;
  const { data: store } = useQuery(storeQuery());
  const client = useQueryClient();
  const navigate = useNavigate();
  const mutation = useMutation({
    mutationFn: async (annotation: Annotation) => {
      await send<null>(`/api/rollouts/${encodeURIComponent(rolloutId)}/annotations`, annotation);
      return queue === undefined || annotation.label === undefined || annotation.label === 'none'
        ? null
        : await nextUnlabelled(queue, rolloutId);
    },
    onSuccess: async (next) => {
      await client.invalidateQueries();
      if (next === null) return;
      await navigate({ to: '/rollouts/$rolloutId', params: { rolloutId: next }, search: { queue } });
    },
  });
  if (store?.canAnnotate !== true || endTimeMs === null) return null;
  const others = detail.siblings.filter((sibling) => sibling.rolloutId !== rolloutId);
  return (
    <section className="panel" aria-label="Annotation">
      <div className="filters">
        {(['good', 'bad'] as const).map((each) => (
          <button
            key={each}
            type="button"
            data-key={each[0]}
            aria-pressed={label === each}
            disabled={mutation.isPending}
            onClick={() => mutation.mutate({ label: label === each ? 'none' : each })}
          >
            {each === 'good' ? 'Good' : 'Bad'} <kbd>{each[0]}</kbd>
          </button>
        ))}
        {others.length === 0 ? null : (
          <label>
            Better than
            <select
              value=""
              disabled={mutation.isPending}
              onChange={({ target }) => mutation.mutate({ preferredOver: target.value })}
            >
              <option value="">{preferredOver.length === 0 ? 'No other rollout' : preferredOver.join(', ')}</option>
              {others.map((other) => (
                <option key={other.rolloutId} value={other.rolloutId}>
                  {`#${detail.siblings.indexOf(other) + 1} ${other.rolloutId}`}
                </option>
              ))}
            </select>
          </label>
        )}
        <TextField
          key={`comment ${rolloutId} ${comment}`}
          label="Comment"
          saved={comment}
          onSave={(text) => mutation.mutate({ comment: text })}
        />
        <TextField
          key={`correction ${rolloutId} ${correction}`}
          label="Correct response"
          saved={correction}
          onSave={(text) => mutation.mutate({ correction: text })}
        />
        {runId === null || queue !== undefined ? null : (
          <Link to="/rollouts/$rolloutId" params={{ rolloutId }} search={{ queue: runId }}>
            Label one after another
          </Link>
        )}
      </div>
      <p className="muted" role="status">
        {mutation.isError ? mutation.error.message : statusText(queue, mutation.data)}
      </p>
    </section>
  );
}

function statusText(queue: string | undefined, next: string | null | undefined): string {
  if (queue === undefined) return '';
  return next === null ? 'All finished rollouts of the run have a label.' : 'The next rollout without a label follows.';
}

/** A text that is saved when the field is left. */
function TextField(props: {
  readonly label: string;
  readonly saved: string;
  readonly onSave: (text: string) => void;
}): ReactNode {
  const { label, saved, onSave } = props;
  const [text, setText] = useState(saved);
  return (
    <label>
      {label}
      <textarea
        rows={1}
        maxLength={4000}
        value={text}
        onChange={({ target }) => setText(target.value)}
        onBlur={() => (text === saved ? undefined : onSave(text))}
      />
    </label>
  );
}

/** The newest finished rollout of a run without a label; null when all have one. */
async function nextUnlabelled(run: string, current: string): Promise<string | null> {
  const filters = { run, label: 'none', status: 'succeeded,failed', limit: 2 };
  const { items } = await read<RolloutPage>('/api/rollouts', filters, new AbortController().signal);
  return items.find(({ rolloutId }) => rolloutId !== current)?.rolloutId ?? null;
}
