// Why there is no place for something, in words and numbers, and what would change that.
import type { Schemas } from '../../api/client';
import { strings } from '../../strings';
import { count } from '../../ui/format';
import { Facts, Time } from '../../ui/pieces';

const words = strings.tenant.refusal;

/** A refusal of placement. */
export function PlacementRefusal({ refusal }: { refusal: Schemas['PlacementRefusal'] }) {
  return (
    <div className="stack-tight">
      <Facts
        of={[
          [words.free, count(refusal.free_gpus)],
          [words.largest, count(refusal.largest_set_gpus)],
          [words.blockedSince, refusal.blocked_since && <Time at={refusal.blocked_since} />],
        ]}
      />
      {refusal.nodes.length > 0 && (
        <>
          <strong>{words.nodes}</strong>
          <ul>
            {refusal.nodes.map((passed) => (
              <li key={passed.reason}>
                {count(passed.nodes)} {strings.codes.reason[passed.reason]}
              </li>
            ))}
          </ul>
        </>
      )}
      {refusal.unblocks.length > 0 && (
        <>
          <strong>{words.unblocks}</strong>
          <ul>
            {refusal.unblocks.map((way) => (
              <li key={way.step}>
                {strings.codes.step[way.step]}
                <span className="soft"> ({words.onNodes(way.nodes, way.gpus)})</span>
              </li>
            ))}
          </ul>
        </>
      )}
    </div>
  );
}

/** The checks of admission, in their order. */
export function Checks({ checks }: { checks: readonly Schemas['CheckView'][] }) {
  return (
    <ul className="plain-list stack-tight">
      {checks.map((check) => (
        <li key={check.code}>
          <CheckMark outcome={check.outcome} /> {strings.codes.check[check.code]}
          {check.detail !== undefined && <span className="soft small"> {check.detail}</span>}
        </li>
      ))}
    </ul>
  );
}

function CheckMark({ outcome }: { outcome: Schemas['CheckOutcome'] }) {
  return outcome === 'passed' ? <span aria-label={words.passed} role="img">✓</span> : <strong className="bad-text">✗ {words.refused}</strong>;
}
