// What opens over the page: dialogs, menus, and short words about what was done.
import { useState, useSyncExternalStore, type ReactNode } from 'react';
import {
  Button as AriaButton,
  Dialog,
  DialogTrigger,
  Heading,
  Menu,
  MenuItem,
  MenuTrigger,
  Modal,
  ModalOverlay,
  Popover,
  Text,
} from 'react-aria-components';
import { strings } from '../strings';
import { Button, type ButtonTone } from './controls';
import { ChevronIcon, type Tone } from './icons';
import { ProblemNote } from './states';

const words = strings.shared;

interface DialogProps {
  title: string;
  isOpen: boolean;
  onClose: () => void;
  children: ReactNode;
  /** For what asks before something is lost. */
  alert?: boolean;
}

/** A box over the page that has to be answered first. */
export function DialogBox({ title, isOpen, onClose, children, alert }: DialogProps) {
  return (
    <ModalOverlay className="modal-overlay" isOpen={isOpen} onOpenChange={(open) => !open && onClose()} isDismissable={!alert}>
      <Modal className="modal">
        <Dialog role={alert ? 'alertdialog' : 'dialog'}>
          <Heading slot="title">{title}</Heading>
          {children}
        </Dialog>
      </Modal>
    </ModalOverlay>
  );
}

interface ConfirmProps {
  /** What the button that opens it says. */
  trigger: string;
  /** A question that names the object. */
  title: string;
  /** What will be lost. */
  children: ReactNode;
  /** What the button that does it says. */
  action: string;
  run: () => Promise<unknown>;
  onDone?: () => void;
  tone?: ButtonTone;
  small?: boolean;
  disabled?: boolean;
}

/** A button that asks before it does something that cannot be taken back. */
export function ConfirmButton({ trigger, title, children, action, run, onDone, tone = 'danger', small, disabled }: ConfirmProps) {
  const [open, setOpen] = useState(false);
  const [pending, setPending] = useState(false);
  const [error, setError] = useState<unknown>();
  const confirm = async (): Promise<void> => {
    setPending(true);
    setError(undefined);
    try {
      await run();
      setOpen(false);
      onDone?.();
    } catch (cause) {
      setError(cause);
    } finally {
      setPending(false);
    }
  };
  return (
    <>
      <Button tone={tone} onPress={() => setOpen(true)} {...(small ? { small } : {})} {...(disabled ? { disabled } : {})}>
        {trigger}
      </Button>
      <DialogBox title={title} isOpen={open} onClose={() => setOpen(false)} alert>
        <div className="stack-tight">{children}</div>
        {error !== undefined && <ProblemNote error={error} />}
        <div className="modal-actions">
          <Button onPress={() => setOpen(false)}>{words.cancel}</Button>
          <Button tone={tone === 'primary' ? 'primary' : 'danger-strong'} pending={pending} onPress={() => void confirm()}>
            {action}
          </Button>
        </div>
      </DialogBox>
    </>
  );
}

interface FormDialogProps {
  trigger: ReactNode;
  title: string;
  action: string;
  /** Does it; the dialog closes when it ends well. */
  run: () => Promise<unknown>;
  onOpen?: () => void;
  children: ReactNode;
  tone?: ButtonTone;
  small?: boolean;
  disabled?: boolean;
  ready?: boolean;
}

/** A button that opens a form. */
export function FormDialog({ trigger, title, action, run, onOpen, children, tone = 'plain', small, disabled, ready = true }: FormDialogProps) {
  const [open, setOpen] = useState(false);
  const [pending, setPending] = useState(false);
  const [error, setError] = useState<unknown>();
  const submit = async (): Promise<void> => {
    setPending(true);
    setError(undefined);
    try {
      await run();
      setOpen(false);
    } catch (cause) {
      setError(cause);
    } finally {
      setPending(false);
    }
  };
  const begin = (): void => {
    setError(undefined);
    onOpen?.();
    setOpen(true);
  };
  return (
    <>
      <Button tone={tone} onPress={begin} {...(small ? { small } : {})} {...(disabled ? { disabled } : {})}>
        {trigger}
      </Button>
      <DialogBox title={title} isOpen={open} onClose={() => setOpen(false)}>
        <form
          className="form"
          onSubmit={(event) => {
            event.preventDefault();
            void submit();
          }}
        >
          {children}
          {error !== undefined && <ProblemNote error={error} />}
          <div className="modal-actions">
            <Button onPress={() => setOpen(false)}>{words.cancel}</Button>
            <Button tone="primary" submit pending={pending} disabled={!ready}>
              {action}
            </Button>
          </div>
        </form>
      </DialogBox>
    </>
  );
}

/** One line of a menu. */
export interface MenuEntry {
  id: string;
  label: string;
  detail?: string;
  selected?: boolean;
  onAction: () => void;
}

/** A button that opens a menu. */
export function MenuButton({ label, children, entries, iconOnly }: { label: string; children: ReactNode; entries: readonly MenuEntry[]; iconOnly?: boolean }) {
  return (
    <MenuTrigger>
      <AriaButton className="button" data-tone="quiet" {...(iconOnly ? { 'aria-label': label, 'data-icon': true } : {})}>
        {children}
        {!iconOnly && <ChevronIcon />}
      </AriaButton>
      <Popover className="popover" placement="bottom end">
        <Menu className="menu" aria-label={label} onAction={(key) => entries.find((entry) => entry.id === key)?.onAction()}>
          {entries.map((entry) => (
            <MenuItem key={entry.id} id={entry.id} textValue={entry.label} className="option" {...(entry.selected ? { 'data-selected': true } : {})}>
              <Text slot="label">{entry.label}</Text>
              {entry.detail !== undefined && <Text slot="description">{entry.detail}</Text>}
            </MenuItem>
          ))}
        </Menu>
      </Popover>
    </MenuTrigger>
  );
}

/** The menu of a narrow window, from the side. */
export function Drawer({ label, trigger, children }: { label: string; trigger: ReactNode; children: (close: () => void) => ReactNode }) {
  return (
    <DialogTrigger>
      <AriaButton className="button menu-button" data-tone="quiet" data-icon aria-label={label}>
        {trigger}
      </AriaButton>
      <ModalOverlay className="drawer-overlay" isDismissable>
        <Modal className="drawer">
          <Dialog aria-label={label}>{({ close }) => <>{children(close)}</>}</Dialog>
        </Modal>
      </ModalOverlay>
    </DialogTrigger>
  );
}

interface Told {
  id: number;
  text: string;
  tone: Tone;
}

let told: readonly Told[] = [];
let nextId = 1;
const watchers = new Set<() => void>();
const tellMs = 6000;

function setTold(next: readonly Told[]): void {
  told = next;
  watchers.forEach((call) => call());
}

/** Says what was done, for some seconds, in a corner and to assistive technology. */
export function tell(text: string, tone: Tone = 'good'): void {
  const id = nextId;
  nextId += 1;
  setTold([...told, { id, text, tone }]);
  setTimeout(() => setTold(told.filter((each) => each.id !== id)), tellMs);
}

/** Where `tell` speaks. */
export function Toasts() {
  const shown = useSyncExternalStore(
    (call) => {
      watchers.add(call);
      return () => void watchers.delete(call);
    },
    () => told,
  );
  return (
    <div className="toasts" role="status" aria-live="polite">
      {shown.map((each) => (
        <div key={each.id} className="toast" data-tone={each.tone}>
          {each.text}
        </div>
      ))}
    </div>
  );
}
