# What ahpd has an interactive zsh read in place of the person's .zshenv: it puts ZDOTDIR back,
# reads that file, and has zsh mark its prompts and commands (OSC 133), say each command line
# (OSC 633;E) and its folder (OSC 7). Everything else zsh reads where it always does.
#
# Nothing here is exported, and PS1 is left alone. Functions are made ahead of anything of the
# person's, so that none of their aliases gets into one. A name of ours never has the mark's
# text in one piece, which is how marks of somebody else are told from ours.

if [[ -n ${ORIGINAL_ZDOTDIR+set} ]]; then
    export ZDOTDIR=$ORIGINAL_ZDOTDIR
    unset ORIGINAL_ZDOTDIR
else
    unset ZDOTDIR
fi

if [[ -o interactive ]]; then
    typeset -gi __ahpd_ran=0
    typeset -g __ahpd_folder= __ahpd_address=
    # Ahead of every hook zsh draws PROMPT_EOL_MARK and a line of blanks (PROMPT_SP). They are
    # not the command's: while it runs, the mark says that it is over before it is drawn.
    typeset -g __ahpd_over=$'%{\e]133;D;%?\a%}' __ahpd_eol='%B%S%#%s%b'  # zsh's own

    # Prints an OSC, on whichever of its descriptors is the terminal.
    __ahpd_say() {
        if [[ -t 1 ]]; then
            builtin printf '\e]%s\a' "$1"
        elif [[ -t 2 ]]; then
            builtin printf '\e]%s\a' "$1" >&2
        fi
    }

    # A prompt is next: the last command is over. Other hooks see its status all the same.
    __ahpd_prompt() {
        local -i __ahpd_status=$?
        builtin emulate -L zsh -o no_aliases -o no_xtrace -o no_err_exit -o no_err_return
        if ((__ahpd_ran)); then
            __ahpd_ran=0
            __ahpd_say "133;D;$__ahpd_status"
            if [[ ${PROMPT_EOL_MARK-} == $__ahpd_over$__ahpd_eol ]]; then
                unset PROMPT_EOL_MARK
            elif [[ ${PROMPT_EOL_MARK-} == $__ahpd_over* ]]; then
                PROMPT_EOL_MARK=${PROMPT_EOL_MARK#$__ahpd_over}
            fi
        fi
        __ahpd_cwd
        __ahpd_say '133;A'
        return 0
    }

    # $1 is the line as it was typed, "" where there is no history; $3 what is run.
    __ahpd_executed() {
        builtin emulate -L zsh -o no_aliases -o no_xtrace -o no_err_exit -o no_err_return
        __ahpd_ran=1
        if [[ ${(t)PROMPT_EOL_MARK-} != *(export|readonly)* ]]; then
            PROMPT_EOL_MARK=$__ahpd_over${PROMPT_EOL_MARK-$__ahpd_eol}
        fi
        __ahpd_line "${1:-$3}"
        __ahpd_say '133;C'
        return 0
    }

    __ahpd_line() {
        local line=$1 character
        local -i number
        ((${#line} <= 8192)) || return 0
        line=${line//\\/\\\\}
        line=${line//;/\\x3b}
        if [[ $line == *[[:cntrl:]]* ]]; then
            for number in {1..31} 127; do
                character=${(#)number}
                line=${line//$character/\\x${(l:2::0:)$(([##16]number))}}
            done
        fi
        __ahpd_say "633;E;$line"
    }

    __ahpd_cwd() {
        if [[ $PWD != $__ahpd_folder ]]; then
            setopt local_options no_multibyte
            local address= character
            for character in ${(s::)PWD}; do
                [[ $character == [A-Za-z0-9/._~-] ]] ||
                    character=%${(l:2::0:)$(([##16]#character))}
                address+=$character
            done
            __ahpd_folder=$PWD
            __ahpd_address=$address
        fi
        __ahpd_say "7;file://$__ahpd_address"
    }

    # Runs once, at the first prompt, when all the person's files were read. Unless somebody
    # else marks this shell's prompts, ours is the first to hear of each.
    __ahpd_install() {
        builtin emulate -L zsh -o no_aliases -o no_xtrace -o no_err_exit -o no_err_return
        builtin zmodload zsh/parameter 2> /dev/null
        local all="$PS1${(j::)functions}"
        if [[ $all != *']1''33;'* && $all != *']6''33;'* ]]; then
            typeset -ga precmd_functions preexec_functions
            precmd_functions=(__ahpd_prompt ${precmd_functions:#__ahpd_prompt})
            preexec_functions+=(__ahpd_executed)
            __ahpd_prompt
        fi
        builtin unfunction __ahpd_install
        return 0
    }
fi

{
    if [[ -r ${ZDOTDIR-$HOME}/.zshenv ]]; then
        builtin source ${ZDOTDIR-$HOME}/.zshenv
    fi
} always {
    if [[ -o interactive ]]; then
        # Not a hook, which their files may set anew: it is run when they were all read.
        builtin zmodload zsh/sched && builtin sched +0 __ahpd_install
    fi
}
