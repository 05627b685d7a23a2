// Buttons and fields. The behaviour (keyboard, focus, touch, screen readers) is the component library's; the looks are in
// styles/controls.css. Pages use these and never the library itself, so that one thing looks one way.
import type { ReactNode } from 'react';
import {
  Button as AriaButton,
  Checkbox as AriaCheckbox,
  FieldError,
  Header,
  Input,
  Label,
  ListBox,
  ListBoxItem,
  ListBoxSection,
  Popover,
  Radio,
  RadioGroup,
  Select as AriaSelect,
  SelectValue,
  Text,
  TextArea,
  TextField as AriaTextField,
} from 'react-aria-components';
import { Link } from 'react-router';
import { CheckIcon, ChevronIcon } from './icons';

/** How loud a button is. */
export type ButtonTone = 'plain' | 'primary' | 'danger' | 'danger-strong' | 'quiet';

interface ButtonProps {
  children: ReactNode;
  onPress?: () => void;
  tone?: ButtonTone;
  small?: boolean;
  disabled?: boolean;
  pending?: boolean;
  submit?: boolean;
  /** For buttons that show no words. */
  label?: string;
  slot?: string;
  className?: string;
}

/** Does something. */
export function Button({ children, onPress, tone = 'plain', small, disabled, pending, submit, label, slot, className }: ButtonProps) {
  return (
    <AriaButton
      className={className ? `button ${className}` : 'button'}
      data-tone={tone}
      {...(small ? { 'data-size': 'small' } : {})}
      {...(label ? { 'aria-label': label, 'data-icon': true } : {})}
      {...(slot ? { slot } : {})}
      {...(onPress ? { onPress } : {})}
      type={submit ? 'submit' : 'button'}
      isDisabled={disabled ?? false}
      isPending={pending ?? false}
    >
      {children}
    </AriaButton>
  );
}

/** Goes somewhere, and looks like a button. */
export function LinkButton({ to, children, tone = 'plain', small }: { to: string; children: ReactNode; tone?: ButtonTone; small?: boolean }) {
  return (
    <Link to={to} className="button" data-tone={tone} {...(small ? { 'data-size': 'small' } : {})}>
      {children}
    </Link>
  );
}

interface TextFieldProps {
  label: string;
  value: string;
  onChange: (value: string) => void;
  hint?: ReactNode;
  error?: string | undefined;
  multiline?: boolean;
  required?: boolean;
  secret?: boolean;
  type?: 'text' | 'number' | 'datetime-local' | 'search' | 'email';
  placeholder?: string;
  /** Takes the focus when it appears: only for the first field of a dialog or of the page to sign in. */
  focusFirst?: boolean;
  min?: number;
  max?: number;
  disabled?: boolean;
  /** Read to assistive technology only. */
  hideLabel?: boolean;
}

/** A line or some lines of text. */
export function TextField(props: TextFieldProps) {
  const { label, value, onChange, hint, error, multiline, required, secret, type = 'text', placeholder, focusFirst, min, max, disabled, hideLabel } = props;
  return (
    <AriaTextField
      className="field"
      value={value}
      onChange={onChange}
      isRequired={required ?? false}
      isInvalid={error !== undefined}
      isDisabled={disabled ?? false}
      type={secret ? 'password' : type === 'datetime-local' ? 'text' : type}
      // eslint-disable-next-line jsx-a11y/no-autofocus -- see `focusFirst`
      autoFocus={focusFirst ?? false}
      validationBehavior="aria"
    >
      <Label className={hideLabel ? 'hidden-but-read' : 'field-label'}>{label}</Label>
      {hint !== undefined && (
        <Text slot="description" className="field-hint">
          {hint}
        </Text>
      )}
      {multiline ? (
        <TextArea rows={4} spellCheck={false} {...(placeholder ? { placeholder } : {})} />
      ) : (
        <Input
          autoComplete="off"
          spellCheck={false}
          {...(type === 'datetime-local' ? { type } : {})}
          {...(placeholder ? { placeholder } : {})}
          {...(min === undefined ? {} : { min })}
          {...(max === undefined ? {} : { max })}
        />
      )}
      <FieldError className="field-error">{error}</FieldError>
    </AriaTextField>
  );
}

/** One thing to choose. */
export interface Option {
  id: string;
  label: string;
  detail?: string | undefined;
  disabled?: boolean;
}

/** Things to choose, under a heading. */
export interface OptionGroup {
  id: string;
  label: string;
  options: readonly Option[];
}

interface SelectProps {
  label: string;
  value: string | undefined;
  onChange: (id: string) => void;
  options?: readonly Option[];
  groups?: readonly OptionGroup[];
  placeholder?: string;
  hint?: ReactNode;
  /** In a bar there is no room for a label above; it is read to assistive technology only. */
  compact?: boolean;
  disabled?: boolean;
}

function OptionRow({ option }: { option: Option }) {
  return (
    <ListBoxItem id={option.id} textValue={option.label} isDisabled={option.disabled ?? false} className="option">
      <Text slot="label">{option.label}</Text>
      {option.detail !== undefined && <Text slot="description">{option.detail}</Text>}
    </ListBoxItem>
  );
}

/** One of many, in a list that opens. */
export function Select({ label, value, onChange, options = [], groups, placeholder, hint, compact, disabled }: SelectProps) {
  const all = groups ? groups.flatMap((group) => group.options) : options;
  return (
    <AriaSelect
      className={compact ? 'select' : 'field select'}
      value={value ?? null}
      onChange={(key) => {
        if (key !== null) onChange(String(key));
      }}
      disabledKeys={all.filter((option) => option.disabled).map((option) => option.id)}
      isDisabled={disabled ?? false}
      {...(placeholder ? { placeholder } : {})}
    >
      <Label className={compact ? 'hidden-but-read' : 'field-label'}>{label}</Label>
      {hint !== undefined && (
        <Text slot="description" className="field-hint">
          {hint}
        </Text>
      )}
      <AriaButton className="select-button">
        <SelectValue className="select-value" />
        <ChevronIcon />
      </AriaButton>
      <Popover className="popover">
        <ListBox className="listbox">
          {groups
            ? groups.map((group) => (
                <ListBoxSection key={group.id} id={group.id}>
                  <Header className="option-group-head">{group.label}</Header>
                  {group.options.map((option) => (
                    <OptionRow key={option.id} option={option} />
                  ))}
                </ListBoxSection>
              ))
            : options.map((option) => <OptionRow key={option.id} option={option} />)}
        </ListBox>
      </Popover>
    </AriaSelect>
  );
}

/** Yes or no. */
export function Checkbox({ children, selected, onChange, disabled }: { children: ReactNode; selected: boolean; onChange: (selected: boolean) => void; disabled?: boolean }) {
  return (
    <AriaCheckbox className="checkbox" isSelected={selected} onChange={onChange} isDisabled={disabled ?? false}>
      <span className="box">{selected && <CheckIcon size={14} />}</span>
      <span>{children}</span>
    </AriaCheckbox>
  );
}

/** One card of a choice. */
export interface Choice {
  id: string;
  title: ReactNode;
  detail?: ReactNode;
  /** Why it cannot be chosen. It is shown, and not selectable. */
  whyNot?: string | undefined;
}

interface ChoicesProps {
  label: string;
  value: string | undefined;
  onChange: (id: string) => void;
  choices: readonly Choice[];
  narrow?: boolean;
  hint?: ReactNode;
}

/** One of few, all on the screen. */
export function Choices({ label, value, onChange, choices, narrow, hint }: ChoicesProps) {
  return (
    <RadioGroup className="field" value={value ?? null} onChange={onChange}>
      <Label className="field-label">{label}</Label>
      {hint !== undefined && (
        <Text slot="description" className="field-hint">
          {hint}
        </Text>
      )}
      <div className={narrow ? 'choices choices-narrow' : 'choices'}>
        {choices.map((choice) => (
          <Radio key={choice.id} value={choice.id} isDisabled={choice.whyNot !== undefined} className="choice">
            <span className="choice-title">{choice.title}</span>
            {choice.detail !== undefined && <span className="small soft">{choice.detail}</span>}
            {choice.whyNot !== undefined && <span className="small">{choice.whyNot}</span>}
          </Radio>
        ))}
      </div>
    </RadioGroup>
  );
}
